// tar/tree_builder

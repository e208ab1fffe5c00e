// index/bundle_builder

// dataset/generation_builder

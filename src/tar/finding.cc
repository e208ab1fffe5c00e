// tar/finding

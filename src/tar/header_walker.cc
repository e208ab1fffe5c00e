// tar/header_walker

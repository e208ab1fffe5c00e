// digest/archive_digester

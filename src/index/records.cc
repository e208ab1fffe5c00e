// index/records

// tar/member

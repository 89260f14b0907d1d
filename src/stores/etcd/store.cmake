holdfast_store(etcd
  SHARES net listed
  PACKAGES OpenSSL gRPC Protobuf
  TARGETS gRPC::grpc++ protobuf::libprotobuf OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG grpc++ protobuf libssl libcrypto
  MESSAGES etcd.proto)

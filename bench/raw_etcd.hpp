#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <stdexcept>
#include <string>

/// What a program does that calls etcd by gRPC itself: one channel, one blocking call at a time.
namespace bench {

class RawEtcd {
public:
    explicit RawEtcd(int port)
        : channel_(grpc::CreateChannel("ipv4:127.0.0.1:" + std::to_string(port),
                                       grpc::InsecureChannelCredentials())) {}

    void put(const std::string& key, const std::string& value) {
        call(put_, field(1, key) + field(2, value));
    }
    void remove(const std::string& key) { call(remove_, field(1, key)); }

private:
    using Method = grpc::internal::RpcMethod;

    /// Of a message: bytes, fewer than 128.
    static std::string field(int number, const std::string& bytes) {
        return {std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} +
                bytes};
    }

    void call(const Method& method, const std::string& message) {
        const grpc::Slice slice(message);
        const grpc::ByteBuffer request(&slice, 1);
        grpc::ByteBuffer response;
        grpc::ClientContext context;
        const grpc::Status status =
            grpc::internal::BlockingUnaryCall(channel_.get(), method, &context, request, &response);
        if (!status.ok()) throw std::runtime_error("etcd: " + status.error_message());
    }

    std::shared_ptr<grpc::Channel> channel_;
    const Method put_{"/etcdserverpb.KV/Put", Method::NORMAL_RPC, channel_};
    const Method remove_{"/etcdserverpb.KV/DeleteRange", Method::NORMAL_RPC, channel_};
};

}  // namespace bench

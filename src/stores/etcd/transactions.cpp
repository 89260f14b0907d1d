#include "stores/etcd/transactions.hpp"

#include <utility>

namespace holdfast::inline v0::etcd {

using messages::Compare;
using messages::RangeRequest;
using messages::RequestOp;

namespace {

Compare equal(Compare::Target what, std::string key) {
    Compare compare;
    compare.set_result(Compare::EQUAL);
    compare.set_target(what);
    compare.set_key(std::move(key));
    return compare;
}

}  // namespace

Compare absent(std::string key) {
    return made_by(std::move(key), 0);
}

Compare made_by(std::string key, std::int64_t revision) {
    Compare compare = equal(Compare::CREATE, std::move(key));
    compare.set_create_revision(revision);
    return compare;
}

Compare written_by(std::string key, std::int64_t revision) {
    Compare compare = equal(Compare::MOD, std::move(key));
    compare.set_mod_revision(revision);
    return compare;
}

Compare none_since(const std::string& start, std::int64_t revision) {
    Compare compare = made_by(start, revision + 1);
    compare.set_result(Compare::LESS);
    compare.set_range_end(end_of(start));
    return compare;
}

RequestOp put(std::string key, std::string value, std::int64_t lease) {
    RequestOp operation;
    auto& request = *operation.mutable_request_put();
    request.set_key(std::move(key));
    request.set_value(std::move(value));
    request.set_lease(lease);
    return operation;
}

RequestOp delete_key(std::string key) {
    RequestOp operation;
    operation.mutable_request_delete_range()->set_key(std::move(key));
    return operation;
}

RequestOp read(std::string key) {
    RequestOp operation;
    operation.mutable_request_range()->set_key(std::move(key));
    return operation;
}

RequestOp read_key(std::string key) {
    RequestOp operation = read(std::move(key));
    operation.mutable_request_range()->set_keys_only(true);
    return operation;
}

RequestOp list(const std::string& start, std::int64_t up_to) {
    RequestOp operation = read(start);
    auto& request = *operation.mutable_request_range();
    request.set_range_end(end_of(start));
    request.set_max_create_revision(up_to);
    request.set_sort_target(RangeRequest::CREATE);
    request.set_sort_order(RangeRequest::ASCEND);
    return operation;
}

RequestOp list_last(int count, const std::string& start, std::int64_t up_to) {
    RequestOp operation = list(start, up_to);
    auto& request = *operation.mutable_request_range();
    request.set_sort_order(RangeRequest::DESCEND);
    request.set_limit(count);
    return operation;
}

messages::TxnRequest deletion_of(const listed::Incarnation& incarnation) {
    messages::TxnRequest request;
    *request.add_compare() = made_by(incarnation.node, incarnation.made_by);
    *request.add_success() = delete_key(incarnation.node);
    return request;
}

}  // namespace holdfast::inline v0::etcd

#include "stores/zookeeper/operations.hpp"

#include <utility>

namespace holdfast::inline v0::zookeeper {

namespace {

enum Type : std::int32_t {
    delete_type = 2,
    exists_type = 3,
    get_data_type = 4,
    set_data_type = 5,
    get_children_type = 8,
    sync_type = 9,
    get_children2_type = 12,
    check_type = 13,
    multi_type = 14,
    create2_type = 15,
    remove_watches_type = 18,
    create_container_type = 19,
    auth_type = 100,
    set_watches_type = 101,
    close_type = -11,
    error_type = -1,
};

constexpr std::int32_t every_right = 31;
constexpr std::int32_t any_version = -1;
constexpr std::int32_t any_watch = 3;

/// No part of a resource's name, and no contender's.
constexpr std::string_view child_of_lasting = "/~lasting";

/// One operation of several that are done together or not at all.
void append_part(std::string& record, const Operation& operation) {
    RecordWriter header;
    header.number(operation.type).flag(false).number(-1);
    record += std::move(header).take() + operation.record;
}

/// Of the parts that were appended.
Operation together(const std::string& record) {
    RecordWriter end;
    end.number(error_type).flag(true).number(-1);
    return {.type = multi_type, .record = record + std::move(end).take(), .writes = true};
}

Operation on_path(std::int32_t type, std::string_view path, Watching watching) {
    RecordWriter record;
    record.text(path).flag(watching == Watching::yes);
    return {.type = type, .record = std::move(record).take()};
}

/// Part of several operations: that the node is there.
Operation check_node(std::string_view path) {
    RecordWriter record;
    record.text(path).number(any_version);
    return {.type = check_type, .record = std::move(record).take()};
}

Stat read_stat(RecordReader& record) {
    Stat stat;
    stat.czxid = record.long_number();
    stat.mzxid = record.long_number();
    stat.ctime = record.long_number();
    record.long_number();  // mtime
    record.number();       // version
    record.number();       // cversion
    record.number();       // aversion
    stat.ephemeral_owner = record.long_number();
    record.number();       // length of the data
    record.number();       // number of children
    record.long_number();  // pzxid
    return stat;
}

}  // namespace

Operation create_node(std::string_view path, std::string_view data, Kind kind, Access access) {
    RecordWriter record;
    record.text(path).text(data).number(1).number(every_right);
    if (access == Access::creator) {
        record.text("auth").text("");
    } else {
        record.text("world").text("anyone");
    }
    record.number(static_cast<std::int32_t>(kind));
    return {.type = kind == Kind::container ? create_container_type : create2_type,
            .record = std::move(record).take(),
            .writes = true};
}

Operation delete_node(std::string_view path) {
    RecordWriter record;
    record.text(path).number(any_version);
    return {.type = delete_type, .record = std::move(record).take(), .writes = true};
}

/// Only a node that is not ephemeral lets a child be made, be it for no time at all.
Operation delete_lasting_node(std::string_view path, Access access) {
    const std::string child = std::string(path) + std::string(child_of_lasting);
    std::string record;
    append_part(record, create_node(child, "", Kind::ephemeral, access));
    append_part(record, delete_node(child));
    append_part(record, delete_node(path));
    return together(record);
}

Operation delete_behind(std::string_view path, std::string_view other) {
    std::string record;
    append_part(record, check_node(other));
    append_part(record, delete_node(path));
    return together(record);
}

Operation write_nothing() {
    std::string record;
    append_part(record, check_node("/"));
    return together(record);
}

Operation forget_watch(std::string_view path) {
    RecordWriter record;
    record.text(path).number(any_watch);
    return {.type = remove_watches_type, .record = std::move(record).take()};
}

Operation read_node(std::string_view path, Watching watching) {
    return on_path(get_data_type, path, watching);
}

Operation write_node(std::string_view path, std::string_view data) {
    RecordWriter record;
    record.text(path).text(data).number(any_version);
    return {.type = set_data_type, .record = std::move(record).take(), .writes = true};
}

Operation look_at_node(std::string_view path, Watching watching) {
    return on_path(exists_type, path, watching);
}

Operation list_children(std::string_view path) {
    return on_path(get_children_type, path, Watching::no);
}

Operation list_with_stat(std::string_view path) {
    return on_path(get_children2_type, path, Watching::no);
}

Operation catch_up() {
    RecordWriter record;
    record.text("/");
    return {.type = sync_type, .record = std::move(record).take()};
}

Operation close_session() {
    return {.type = close_type, .record = {}};
}

std::string record_of(const SessionRequest& request) {
    RecordWriter record;
    record.number(0)
        .long_number(request.last_zxid)
        .number(request.timeout_ms)
        .long_number(request.id)
        .text(request.password.empty() ? std::string(16, '\0') : request.password)
        .flag(false);
    return std::move(record).take();
}

SessionAnswer session_answer(std::string_view bytes) {
    RecordReader record(bytes);
    record.number();  // of the protocol's version
    SessionAnswer answer;
    answer.timeout_ms = record.number();
    answer.id = record.long_number();
    answer.password = record.text();
    return answer;
}

std::string digest_record(std::string_view credentials) {
    RecordWriter record;
    record.number(auth_number).number(auth_type).number(0).text("digest").text(credentials);
    return std::move(record).take();
}

std::string watches_record(std::int64_t zxid, const std::vector<std::string>& paths) {
    RecordWriter record;
    record.number(watches_number).number(set_watches_type).long_number(zxid);
    record.texts(paths).texts({}).texts({});
    return std::move(record).take();
}

std::string request_record(std::int32_t number, const Operation& operation) {
    RecordWriter record;
    record.number(number).number(operation.type);
    return std::move(record).take() + operation.record;
}

Incoming incoming(std::string_view bytes) {
    RecordReader record(bytes);
    Incoming arrived;
    arrived.number = record.number();
    arrived.zxid = arrived.reply.zxid = record.long_number();
    arrived.reply.refusal = static_cast<Refusal>(record.number());
    arrived.reply.record = std::string(record.rest());
    return arrived;
}

std::optional<Event> event_of(const Reply& reply) {
    RecordReader record(reply.record);
    const std::int32_t what = record.number();
    record.number();  // the session's state
    if (what < 1 || what > 4) return std::nullopt;
    return Event{static_cast<Event::What>(what), record.text()};
}

Reply::Made Reply::made() const {
    RecordReader reader(record);
    std::string path = reader.text();
    return {std::move(path), read_stat(reader)};
}

std::vector<std::string> Reply::children() const {
    return RecordReader(record).texts();
}

Reply::Listing Reply::listing() const {
    RecordReader reader(record);
    auto children = reader.texts();
    return {std::move(children), read_stat(reader)};
}

Reply::Content Reply::content() const {
    RecordReader reader(record);
    std::string data = reader.text();
    return {std::move(data), read_stat(reader)};
}

Stat Reply::stat() const {
    RecordReader reader(record);
    return read_stat(reader);
}

/// Each part of what was not done has an error, and all but one of them only say so.
Refusal Reply::refused() const {
    if (!ok()) return refusal;
    constexpr std::int32_t because_of_another = -2;
    RecordReader reader(record);
    while (reader.number() == error_type && !reader.flag()) {
        reader.number();  // the same as what follows
        const std::int32_t error = reader.number();
        if (error != 0 && error != because_of_another) return static_cast<Refusal>(error);
    }
    return Refusal::none;
}

}  // namespace holdfast::inline v0::zookeeper

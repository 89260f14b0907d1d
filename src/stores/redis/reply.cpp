#include "stores/redis/reply.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::redis {

/// The one that is being read.
struct OutermostReply {
    Reply reply = {};
    bool is_too_large = false;
};

namespace {

/// Nothing that we ask for has more.
constexpr int most_elements = 1 << 20;

/// Elements are placed into their parent, the outermost reply where the reader keeps it. There is
/// room for an element only once it comes: a server that announces a million, and in the first
/// of them a million again, has not sent them yet. While one that has elements itself is read, its
/// parent gets no other, so that it stays where hiredis knows it to be.
Reply* place_for(const redisReadTask* task) {
    if (task->parent == nullptr) {
        Reply& outermost = static_cast<OutermostReply*>(task->privdata)->reply;
        outermost = {};
        return &outermost;
    }
    return &static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
}

Reply::Kind kind_of(const redisReadTask* task) {
    switch (task->type) {
        case REDIS_REPLY_STATUS:
            return Reply::Kind::status;
        case REDIS_REPLY_ERROR:
            return Reply::Kind::error;
        default:
            return Reply::Kind::text;
    }
}

/// hiredis is C: no exception may pass through it. Null says: out of memory.
template <class Fill>
void* made(const redisReadTask* task, Fill fill) noexcept {
    try {
        Reply* const reply = place_for(task);
        fill(*reply);
        return reply;
    } catch (const std::exception&) {
        return nullptr;
    }
}

void* make_text(const redisReadTask* task, char* text, std::size_t size) {
    return made(task, [&](Reply& reply) {
        reply.kind = kind_of(task);
        reply.text.assign(text, size);
    });
}

void* make_array(const redisReadTask* task, int count) {
    if (count < 0 || count > most_elements) {
        static_cast<OutermostReply*>(task->privdata)->is_too_large = true;
        return nullptr;
    }
    return made(task, [&](Reply& reply) {
        reply.kind = Reply::Kind::array;
        // What our scripts answer has so many; what is merely announced gets no room.
        reply.elements.reserve(static_cast<std::size_t>(std::min(count, 16)));
    });
}

void* make_integer(const redisReadTask* task, long long number) {
    return made(task, [&](Reply& reply) {
        reply.kind = Reply::Kind::integer;
        reply.integer = number;
    });
}

void* make_nil(const redisReadTask* task) {
    return made(task, [](Reply& reply) { reply.kind = Reply::Kind::nil; });
}

/// It belongs to the reader.
void destroy(void*) {}

redisReplyObjectFunctions functions{make_text, make_array, make_integer, make_nil, destroy};

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const noexcept {
    redisReaderFree(reader);
}

ReplyReader::ReplyReader()
    : outermost_(std::make_unique<OutermostReply>()),
      reader_(redisReaderCreateWithFunctions(&functions)) {
    if (!reader_) throw std::bad_alloc();
    reader_->privdata = outermost_.get();
}
ReplyReader::~ReplyReader() = default;
ReplyReader::ReplyReader(ReplyReader&&) noexcept = default;
ReplyReader& ReplyReader::operator=(ReplyReader&&) noexcept = default;

void ReplyReader::feed(std::string_view bytes) {
    // A failure is kept in the reader, and next() tells it.
    static_cast<void>(redisReaderFeed(reader_.get(), bytes.data(), bytes.size()));
}

std::optional<Reply> ReplyReader::next() {
    // The usual end of it, without another look.
    if (reader_->err == 0 && reader_->pos == reader_->len) return std::nullopt;
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        const bool is_out_of_memory = reader_->err == REDIS_ERR_OOM && !outermost_->is_too_large;
        if (is_out_of_memory) throw std::bad_alloc();
        throw Error(errc::corrupt, reader_->errstr);
    }
    if (reply == nullptr) return std::nullopt;
    return std::move(outermost_->reply);
}

}  // namespace holdfast::inline v0::redis

#include "stores/local/mailbox.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace holdfast::inline v0::local {

namespace {

using ledger::Key;

Key box_of(ledger::ClientId client) {
    return Key('q') << client;
}

}  // namespace

void post(ledger::Table& table, const ledger::Told& told) {
    const char state = static_cast<char>(told.state);
    table.put(box_of(told.client) << told.nonce, {&state, 1});
}

std::vector<ledger::Told> take_mail(ledger::Table& table, ledger::ClientId client) {
    std::vector<ledger::Told> mail;
    const Key box = box_of(client);
    const std::string_view prefix = box;
    for (auto row = table.at_or_after(prefix); row && row->key.starts_with(prefix);
         row = table.at_or_after(prefix)) {
        ledger::Told told{.client = client, .nonce = {}, .state = {}};
        std::memcpy(told.nonce.bytes.data(), row->key.data() + prefix.size(),
                    told.nonce.bytes.size());
        told.state = static_cast<Standing::State>(row->value.front());
        mail.push_back(told);
        table.erase(box_of(client) << told.nonce);
    }
    return mail;
}

}  // namespace holdfast::inline v0::local

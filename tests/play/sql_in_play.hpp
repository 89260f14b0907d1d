#pragma once

#include <stdexcept>
#include <string>

#include <holdfast/upkeep.hpp>

#include "play/play_site.hpp"

namespace holdfast::test {

/// A store in a database. `Server` is that, `Dialect` how a few things are said to it:
///     std::string among_ours(statement)  done where our tables are
///     std::string script(statements)     some of which have statements in them
///     std::string id_of(name)            of a line, as an expression
///     std::string books(line)            a query that answers nothing when all adds up
///     changes(fault)
template <class Server, class Dialect>
class SqlInPlay : public PlaySite {
public:
    explicit SqlInPlay(std::string layout) : layout_(std::move(layout)) {}

    std::string url() const override { return server_->url() + "?layout=" + layout_; }

    Rules rules() const override {
        if (layout_ == "holdfast") return {};
        return {.tells_of_ends = false, .pace = std::chrono::microseconds{300}};
    }

    void forget(const std::string& resource) override {
        run("DELETE FROM holdfast_lines WHERE id = " + Dialect::id_of(name_of(resource)));
    }
    void damage(const std::string& resource, simulation::Random& random) override {
        const std::string line = Dialect::id_of(name_of(resource));
        const std::string whom = std::string("line = ") + line + " AND phase " +
                                 (random.chance(500) ? "<> 'left'" : "= 'waiting'");
        const auto which = random.below(4);
        if (which == 0) return forget(resource);
        if (which == 1) return run("DELETE FROM holdfast_contenders WHERE " + whom);
        const std::string end = which == 2 ? "MIN" : "MAX";
        run("DELETE FROM holdfast_contenders WHERE line = " + line +
            " AND nonce = (SELECT found FROM (SELECT " + end +
            "(nonce) AS found FROM holdfast_contenders WHERE " + whom + ") one)");
    }
    std::string wrong_in_books(const std::string& resource) const override {
        return server_->query(
            Dialect::among_ours(Dialect::books(Dialect::id_of(name_of(resource)))));
    }
    void plant(Fault fault) override {
        std::string statements = schema(url());
        for (const Change& change : Dialect::changes(fault)) {
            if (!change.make_in(statements)) {
                throw std::runtime_error("no such line: " + std::string(change.from));
            }
        }
        server_->query(Dialect::script(statements));
    }

private:
    std::string name_of(const std::string& resource) const {
        return layout_ == "shedlock" ? "%shedlock/" + resource : resource;
    }
    void run(const std::string& statement) const { server_->query(Dialect::among_ours(statement)); }

    const std::string layout_;
    std::unique_ptr<Server> server_ = clock_.start<Server>();
};

}  // namespace holdfast::test

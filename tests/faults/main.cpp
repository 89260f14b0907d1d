#include "support/contender_main.hpp"

int main(int count, char** arguments) {
    return holdfast::test::run_tests_or_contend(count, arguments);
}

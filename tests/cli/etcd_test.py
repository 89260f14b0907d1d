"""The program on etcd: what is etcd's own."""

import re
import sys
import unittest

from sites import Etcd, EtcdOfOthers, OnASite


class OnEtcd(OnASite):
    SITE = Etcd

    def test_nothing_is_left_behind(self):
        self.assertEqual(self.call("run", "a/b/c", "--", "true")[0], 0)
        self.assertEqual(self.server.keys(), [])

    def test_only_an_etcd_url_loads_its_library(self):
        self.environment["LD_DEBUG"] = "files"
        loaded = lambda *words: "".join(re.findall(r"calling init: (.*\n)", self.call(*words)[2]))
        self.assertIn("libgrpc", loaded("list"))
        for store in (f"local://{self.folder}", "redis://127.0.0.1:1"):
            self.assertNotIn("libgrpc", loaded("list", "-S", store))


class BesideEtcdctl(OnASite):
    SITE = EtcdOfOthers

    def test_the_name_is_theirs(self):
        self.hold("locks/orders")
        (key,) = self.server.keys("locks/orders/")
        self.assertRegex(key, r"^locks/orders/[0-9a-f]+-[0-9a-f-]+$")

    def test_what_else_is_there_is_not_listed(self):
        self.server.ctl("put", "app/settings", "x")
        self.server.ctl("put", "app/694d5765fc71500b", "x")
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.call("show", "app"), (0, "app: free\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)

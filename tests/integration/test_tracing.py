#!/usr/bin/python3
"""The writer's trace context reaches the consumer unchanged as W3C headers."""

from walrelay_test.testcase import IntegrationTest, Outbox, main

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
# As written by java.util.Properties.store(), which Debezium's writers use.
SPAN_CONTEXT = ("#Sat Nov 21 08:14:02 UTC 2026\n"
                f"tracestate={STATE.replace('=', chr(92) + '=')}\n"
                f"traceparent={PARENT}\n")


class TracingTest(IntegrationTest):
    def prepare(self) -> None:
        self.outbox = Outbox(self.database, self.name, more_columns=(
            ", traceparent text, tracestate text, tracingspancontext text"))
        self.publish("outbox")

    def trace_headers(self) -> list[dict[str, str]]:
        """The trace headers of each record, in order."""
        return [{name: value.decode() for name, value in record.headers if name.startswith("trace")}
                for record in self.published()]

    def test_context_reaches_the_consumer_unchanged(self) -> None:
        self.start_relay()
        self.outbox.insert(1, more={"traceparent": PARENT, "tracestate": STATE})
        self.outbox.insert(2, more={"traceparent": PARENT})
        self.outbox.insert(3, more={"tracingspancontext": SPAN_CONTEXT})
        self.outbox.insert(4)
        self.settle()
        both = {"traceparent": PARENT, "tracestate": STATE}
        self.assertEqual(self.trace_headers(), [both, {"traceparent": PARENT}, both, {}])

    def test_context_can_be_disabled(self) -> None:
        self.start_relay({"source.columns.traceparent": "", "source.columns.tracestate": "",
                          "source.columns.span_context": ""})
        self.outbox.insert(1, more={"traceparent": PARENT, "tracingspancontext": SPAN_CONTEXT})
        self.settle()
        self.assertEqual(self.trace_headers(), [{}])


if __name__ == "__main__":
    main()

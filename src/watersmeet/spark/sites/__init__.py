"""What joins between sites have of their own: they are deployed. Every site is a bucket of `spark.host`.

    streams -> pack --+
                      +--> groupBy(site) -> stateful operator --+--> results -> sink
    mailbox ----------+                                         +--> mail ----> mailbox

deployment.py  puts it together, ends it, and closes every batch
task.py        from a wiring to what the workers are told
sink.py        where results go
status.py      what sites report, kept beside their mail
"""

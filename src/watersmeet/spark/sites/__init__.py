"""Joins between sites on Spark: every site is a group of a stateful operator, messages travel by mail.

    streams -> pack --+
                      +--> groupBy(site) -> stateful operator --+--> results -> sink
    mailbox ----------+                                         +--> mail ----> mailbox

`deployment` puts it together, `mailbox` carries mail, `mail_source` reads it as a source of Spark,
`processor` runs the parts of a site.
"""

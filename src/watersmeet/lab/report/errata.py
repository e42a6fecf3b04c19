"""Mistakes in the papers that change a number: what is printed, what we take, and what it does.

Slips that every reader corrects by himself are left out.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Erratum:
    """One mistake."""

    where: str
    printed: str
    taken: str
    effect: str


ERRATA: dict[str, tuple[Erratum, ...]] = {
    "golab": (
        Erratum(
            "lazy evaluation, Sect. 3.2",
            "Windows are looped through in a fixed order without asking which row came first.",
            "A combination counts only with the row that came last as the new one.",
            "In the paper's own example (Tables 2 and 3) 8 rows come out instead of 2.",
        ),
        Erratum(
            "new rows of a run",
            "Rows from NOW - tau to NOW, both ends included.",
            "Rows that came after the last run.",
            "A row on the border is joined in two runs.",
        ),
        Erratum(
            "hash join, lower end of a window",
            "A row is alive from k.ts minus rate times T on: rows subtracted from time.",
            "From k.ts - T on.",
            "With ten rows per second and T = 100, rows ten windows old are joined.",
        ),
        Erratum(
            "windows of rows",
            "Counters down to cnt - C are alive, and nothing bounds them from above.",
            "More than cnt - C and at most cnt, of the newest row before k.",
            "C + 1 rows are alive, and newer ones join too.",
        ),
        Erratum(
            "hash tables in the cost model, Sect. 5.3",
            "T is divided by the buckets.",
            "Only the length of a scan is; sizes of results stay.",
            "With T divided everywhere, equal tables would change the best order, which the section denies.",
        ),
        Erratum(
            "generated streams, Sect. 6.1",
            "The time of a row is its number.",
            "Its number over the sum of the rates.",
            "Windows would hold a fifteenth of the rows, and another plan of Table 5 would be best.",
        ),
        Erratum(
            "how often to expire, Sect. 6.4",
            "More buckets want a higher frequency.",
            "A longer interval.",
            "The paper's own optima are tau = 4, 15 and 30 for 2, 10 and 30 buckets.",
        ),
    ),
    "rpj": (
        Erratum(
            "eq. (1)",
            "The third term is n1_mem n1_arr n2_arr.",
            "n1_arr n2_arr, as in eq. (2).",
            "The example has 141 results to come; the printed formula gives 285.",
        ),
        Erratum(
            "duplicates, Fig. 7",
            "Two different scans may account for one pair.",
            "It must be the same scan.",
            "136 of 5,469 results are lost in a simulation.",
        ),
        Erratum(
            "times of arrival and of flushes",
            "Clock times, which may be equal.",
            "Ticks of a logical clock; no two events share one.",
            "252 results lost and 45 doubled of 5,469.",
        ),
        Erratum(
            "passes of a merge, Sect. 5.3",
            "log2 of the pages; the fan-in f is defined and not used.",
            "log_f of the runs, and at least one.",
            "Merges look many times as expensive as they are.",
        ),
        Erratum(
            "the reverse workload",
            "P(j | R2) = P(20 - j | R1).",
            "P(21 - j | R1).",
            "The printed probabilities add up to 0.916.",
        ),
        Erratum(
            "HMJ's numbers of runs",
            "Runs of both sides with one number were in memory together.",
            "Judged by ticks, as everywhere.",
            "When one side has nothing to flush the numbers drift, and results are lost and doubled.",
        ),
    ),
    "pmjoin": (
        Erratum(
            "Algorithm 1, last stream",
            "The rule may leave joins pending when one stream remains (102.75 against 59 in Example 2).",
            "The last stream is always sent on.",
            "The plan would never be complete.",
        ),
        Erratum(
            "eq. (2) and (3), skewed values",
            "Selectivities of pairs are multiplied.",
            "Frequencies per value are multiplied, and added over the values.",
            "Rates of three-way results are wrong as soon as values are skewed; Table 1 was made the "
            "right way.",
        ),
        Erratum(
            "intermediate windows",
            "One time and one length for a result of two streams.",
            "It ends when the first of its rows does.",
            "With windows of different lengths rows are joined that have expired.",
        ),
        Erratum(
            "choice of groups, Sect. 3.3",
            "Only the parent of a chosen plan is restored.",
            "Parent and children leave the list.",
            "Values would belong to two groups.",
        ),
        Erratum(
            "Optimal",
            "The plans it is taken from are not said.",
            "The least over all subsets of streams and all nodes.",
            "What 'near optimal' is compared with depends on it.",
        ),
    ),
    "psp": (
        Erratum(
            "Fig. 3, dropping",
            "A row is dropped before it is joined at its last node.",
            "It is not sent on, and joined.",
            "628 of 1,762 results are lost.",
        ),
        Erratum(
            "END tokens",
            "The last one has ordinal M - 2.",
            "M - 1.",
            "506 of 1,762 results are lost.",
        ),
        Erratum(
            "eq. (1)",
            "The selectivity stands in the last factor.",
            "Comparisons are counted before it applies.",
            "Costs are too small by a factor S.",
        ),
        Erratum("eq. (3)", "Output rate 1 / L.", "N / L.", "The rate would fall with every node."),
        Erratum(
            "Sect. 8.2",
            "A smaller selectivity wants a longer ring.",
            "By eq. (5) a shorter one: 21, 29 and 65 nodes for 0.05, 0.1 and 0.5.",
            "The claim is not held against the model.",
        ),
        Erratum(
            "Experiment 1",
            "50 rows per second and windows of 10 s, three streams.",
            "Smaller ones.",
            "9 million results per second would come out.",
        ),
    ),
    "semijoin": (
        Erratum(
            "Constraint 2",
            "Expired rows go delta after the tick.",
            "They stay as long as some step may still read them, up to delta and one latency.",
            "SM-S2 and SM-D1 lose 52 and 149 of 1,125 results with the paper's own delays.",
        ),
        Erratum(
            "Table 4, k and m",
            "min(1/f, w/f 100) is always 1/f.",
            "min(1/f, w): no more keys than rows.",
            "50 keys are charged where one row is.",
        ),
        Erratum(
            "cost of SM-S2",
            "Bytes are added to seconds.",
            "They are inside the shipment.",
            "The printed formula has no unit.",
        ),
        Erratum(
            "empty shipments",
            "A latency is charged for messages with nothing in them.",
            "None are sent.",
            "3.18 s instead of 3.68 s for SM-S2 at the default.",
        ),
        Erratum(
            "Sect. 5.3.1",
            "SM-S1 is more efficient than SM-S2, and SM-D2 than SM-D1.",
            "Less efficient.",
            "The formulas give 4.04 against 3.18 and 4.05 against 3.46.",
        ),
        Erratum(
            "Algorithm 10",
            "The algorithm of the last candidate is kept, not of the best.",
            "Stream, algorithm and cost are kept together.",
            "A wrong first step in 111 of 300 cases.",
        ),
    ),
}

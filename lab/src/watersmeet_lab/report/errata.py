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
            "rows with equal times",
            "A partner may be as old as the new row: k.ts - T <= u.ts <= k.ts.",
            "The partner must have come before it, in an order without ties.",
            "Lazy joins find a pair with equal times twice.",
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
        Erratum(
            "cost formulas, appendix",
            "The first loop is charged nothing when new rows are not in it.",
            "The same: a cost begins with the pairs of the first two loops.",
            "Figs. 2 and 3 and all tables are in this unit; a prototype pays for the scan as well.",
        ),
        Erratum(
            "size of windows in lazy joins, Sect. 4.2",
            "T + tau, which is what they grow to.",
            "The same for the formulas; on average it is T + tau / 2.",
            "Formulas are above what is counted, the more the longer the interval (Fig. 3).",
        ),
        Erratum(
            "the heuristic, Sect. 5.1",
            "One rule, which Table 6 lists two outcomes of.",
            "Both rules behind them, smallest result next and fewest matches first; the cheapest is taken.",
            "One rule alone gives Tables 5 and 7 and one of the two lines of Table 6.",
        ),
        Erratum(
            "moving fast streams up, Sect. 5.1",
            "What is fast is not said; n^f orders are printed as nf.",
            "At least twice the geometric mean of the rates; every place above its own but the first.",
            "Finds the best plans of Tables 6 and 7; another limit would miss one.",
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
            "what a scan would find, case 2",
            "All rows now on disk are taken off when a row leaves memory.",
            "Only those that were there when the row came.",
            "The printed rule falls below zero, and tasks are rated by it.",
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
        Erratum(
            "HMJ's adaptive flush",
            "Two aims and no formula.",
            "The difference of the sides less their sum.",
            "With it the claim that it does well for both patterns fails: at the first overflow all pairs "
            "are balanced (Sect. 4.3).",
        ),
        Erratum(
            "parameters of the experiments",
            "Flush size, decay, page times, fan-in and gaps between rows are not said.",
            "What is chosen stands in the settings; a mean gap of 7 ms follows from where the data ends.",
            "Figs. 9 to 12 depend on them: see the section on what was left open.",
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
            "choice of operators that are partitioned, Sect. 3.3",
            "Only the parent of a chosen one leaves the list.",
            "Parent and children do.",
            "An operator could be chosen together with its child, which the first constraint forbids.",
        ),
        Erratum(
            "Optimal",
            "The plans it is taken from are not said.",
            "The least over all subsets of streams and all nodes.",
            "What 'near optimal' is compared with depends on it.",
        ),
        Erratum(
            "Example 2, last step",
            "S1 and the result of three streams are sent to n0.",
            "S4 and that result; S1 is there already.",
            "The traffic is 34.",
        ),
        Erratum(
            "Example 2, Fig. 2(a)",
            "Selectivities stand in a figure only, and one of them follows from nothing printed.",
            "f01 = 0.01, f23 = 0.001, 0.004 between S0 and S2, and 0.01 for the free one.",
            "The printed rates give the others; the free one must be above 1/120 for what is decided.",
        ),
        Erratum(
            "bytes of a result",
            "2 for a pair in Example 1, 1 for any row in the experiments.",
            "As printed in each.",
            "Costs of the two cannot be compared.",
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
        Erratum(
            "results per row, Sect. 4.3",
            "Intermediate results up to (SW)^(M - 1), results (SW)^M.",
            "One power less: the new row itself takes no part of a window.",
            "Counts are too large by SW; the ratio that is used is not.",
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
        Erratum(
            "Table 4, f_ij",
            "min(1, f_i / f_j), and which stream it filters is not said.",
            "The part of S_i that finds a partner: min(1, d_j / d_i).",
            "Read the other way round, SM-S1 and SM-S2 change places.",
        ),
        Erratum(
            "Fig. 7(d)",
            "All algorithms grow with the window.",
            "All but SM-S2, whose formula has no such term when both selectivities are equal.",
            "SM-S2 is flat here.",
        ),
        Erratum(
            "Table 3, star and chain",
            "Star 1.02, chain 1.06, explained by fewer choices.",
            "Not asserted: a star has 12 valid orders, a chain 8.",
            "The formulas give 1.08 and 1.05.",
        ),
    ),
}

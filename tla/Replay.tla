-------------------------------- MODULE Replay --------------------------------
(* Which recorded traces the reference admits, under which fault sets. All traces of a batch form a forest of prefixes: a   *)
(* reachable pair of a node and a fault set means that this prefix is admissible under those faults.                        *)
(* The module Traces is generated for each batch. It defines                                                                *)
(*   Events     every distinct pair of a command and what was seen of it                                                    *)
(*   Children   for each node, its pairs <<event, child>>                                                                   *)
(*   Roots      <<shape, profile, fault set, node>>: where traces of a workload of that shape begin that are judged beyond  *)
(*              that profile, and a fault set to try on them                                                                *)
EXTENDS Reference, Traces, TLC

VARIABLES
    beyond, \* frozen: the fault set tried, beyond the profile
    node,   \* the prefix read so far
    worlds  \* every state, with the binding choices it rests on, that explains it; never empty

vars == <<asks, faults, beyond, node, worlds>>

Init ==
    /\ \E root \in Roots : asks = root[1] /\ faults = root[2] \cup root[3] /\ beyond = root[3] /\ node = root[4]
    /\ worlds = {[state |-> Unstarted, policy |-> {}]}

Read(event, child) ==
    /\ worlds' = Advance(worlds, event.command, event.seen)
    /\ worlds' # {}
    /\ node' = child
    /\ UNCHANGED <<asks, faults, beyond>>

Next == \E step \in Children[node] : Read(Events[step[1]], step[2])

Spec == Init /\ [][Next]_vars

(* Always true: says that the node was reached. *)
Reached == PrintT(<<node, beyond>>)
===============================================================================

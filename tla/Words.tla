--------------------------------- MODULE Words ---------------------------------
(* Every word of events up to a length: does the Python reference admit the same ones? What a word may go on with depends   *)
(* on the worlds it leaves alone, so words that leave the same worlds are one node of an automaton. Python's automaton is   *)
(* generated, as the module Automaton; here the two run side by side, and part where one admits an event and the other      *)
(* refuses it. It defines                                                                                                   *)
(*   Roots     the triples <<shape, faults, node>> of the empty word                                                        *)
(*   Commands  the commands of the alphabet, each with its events: pairs <<event, what is seen>>                            *)
(*   Children  for each node short enough to be read on from, its pairs <<event, child>>                                    *)
EXTENDS Reference, Automaton

VARIABLES
    node,   \* where Python is; 0 where the two have parted
    worlds  \* where TLC is

vars == <<asks, faults, node, worlds>>

Init ==
    /\ \E root \in Roots : asks = root[1] /\ faults = root[2] /\ node = root[3]
    /\ worlds = {[state |-> Unstarted, policy |-> {}]}

Read(event, left) ==
    LET admitted == {step \in Children[node] : step[1] = event}
    IN  /\ left # {} \/ admitted # {}
        /\ node' = IF left = {} \/ admitted = {} THEN 0 ELSE (CHOOSE step \in admitted : TRUE)[2]
        /\ worlds' = left
        /\ UNCHANGED <<asks, faults>>

Next ==
    /\ node \in DOMAIN Children
    /\ \E row \in Commands :
          LET onward == Onward(worlds, row[1]) IN \E event \in row[2] : Read(event[1], Left(onward, event[2]))

Spec == Init /\ [][Next]_vars

NeverPart == node # 0
================================================================================

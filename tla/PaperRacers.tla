----------------------------- MODULE PaperRacers -----------------------------
(* Module Paper and one more thing that can happen: a second process answers the same question at the same time. It  *)
(* parts CO into its two clauses: a question is told consumed once (CO-c), and its effect fires once (CO-e). Left    *)
(* out, as in the paper: the racers' own steps (read, decide, consume, effect). The second delivery is one step that *)
(* succeeds as long as the task behind the gate has not run, because both racers then saw the question pending. With *)
(* no switch on it is refused, and a refusal changes nothing.                                                        *)
EXTENDS Naturals, Sequences, Report

CONSTANTS NTasks, IP, Values, MaxResumes, MaxCrashes, MaxExtraResumes, Faults

ASSUME Faults \subseteq {"ConcurrentConsume", "RaceEffect"}

VARIABLES next, status, effects, log, answers, forks, decisions, strays

Base == INSTANCE Paper WITH ParkedCrash <- "none", Rebuild <- FALSE

Init == Base!Init

(* The record of the gate is the winner's alone, so PC is not touched, whichever switches are on.                    *)
Race(v) ==
    /\ Base!On("ConcurrentConsume")
    /\ status = "running" /\ next = IP + 1
    /\ Base!Answered /\ Base!Given < MaxResumes
    /\ answers' = Append(answers, v)
    /\ effects' = [effects EXCEPT ![IP] = @ + (IF Base!On("RaceEffect") THEN 1 ELSE 0)]
    /\ UNCHANGED <<next, status, log, forks, decisions, strays>>

Next == Base!Next \/ \E v \in Values : Race(v)

-----------------------------------------------------------------------------
ConsumedOnce == Len(answers) <= 1

Reported == Report("PC" :> Base!PC @@ "EO" :> Base!EO @@ "FD" :> Base!FD @@ "CV" :> Base!CV @@ "RD" :> Base!RD
                   @@ "CO-c" :> ConsumedOnce @@ "CO-e" :> Base!CO)
=============================================================================

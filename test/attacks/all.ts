import type { Attack, Stage } from './attack.ts';
import { continuedResponses } from './money/continued-responses.ts';
import { foldedMembers } from './money/folded-members.ts';
import { forms } from './money/forms.ts';
import { hugeUsage } from './money/huge-usage.ts';
import { leaving } from './money/leaving.ts';
import { leavingAPlan } from './money/leaving-a-plan.ts';
import { leavingEarly } from './money/leaving-early.ts';
import { namedModels } from './money/named-models.ts';
import { namedState } from './money/named-state.ts';
import { overdrafts } from './money/overdrafts.ts';
import { pictureSize } from './money/picture-size.ts';
import { planTokens } from './money/plan-tokens.ts';
import { planWindow } from './money/plan-window.ts';
import { references } from './money/references.ts';
import { usageTricks } from './money/usage-tricks.ts';
import { givenAway } from './people/given-away.ts';
import { halfSentChanges } from './people/half-sent-changes.ts';
import { headerBlanks } from './people/header-blanks.ts';
import { longNames } from './people/long-names.ts';
import { manyChanges } from './people/many-changes.ts';
import { nestedSignIns } from './people/nested-sign-ins.ts';
import { signInsOfALine } from './people/sign-ins-of-a-line.ts';
import { usageAsCsv } from './people/usage-as-csv.ts';
import { adminGuesses } from './stop/admin-guesses.ts';
import { allConnections } from './stop/all-connections.ts';
import { bombs } from './stop/bombs.ts';
import { deepNesting } from './stop/deep-nesting.ts';
import { emptyArrays } from './stop/empty-arrays.ts';
import { endlessBodies } from './stop/endless-bodies.ts';
import { equalReferences } from './stop/equal-references.ts';
import { freshKeys } from './stop/fresh-keys.ts';
import { halfSentBodies } from './stop/half-sent-bodies.ts';
import { halfSentEdits } from './stop/half-sent-edits.ts';
import { largeEstimates } from './stop/large-estimates.ts';
import { namesInThemselves } from './stop/names-in-themselves.ts';
import { ownLists } from './stop/own-lists.ts';
import { providerErrors } from './stop/provider-errors.ts';
import { refusals } from './stop/refusals.ts';
import { sentAhead } from './stop/sent-ahead.ts';
import { silentSockets } from './stop/silent-sockets.ts';
import { slowBodies } from './stop/slow-bodies.ts';
import { unreadLists } from './stop/unread-lists.ts';
import { unreadEnds, unreadResponses } from './stop/unread-responses.ts';
import { valuesInCalls } from './stop/values-in-calls.ts';
import { valuesInEstimates } from './stop/values-in-estimates.ts';

/**
 * The attacks of each stage. Each stage has its own gateway and its own innocent caller, and all stages run at the same time. Lists run
 * one after another; the attacks in one list run at the same time.
 */
export const STAGES: Readonly<Record<Stage, readonly (readonly Attack[])[]>> = {
  stop: [
    [slowBodies],
    [bombs],
    [halfSentBodies],
    [halfSentEdits],
    [freshKeys],
    [unreadResponses],
    [emptyArrays],
    [largeEstimates],
    [deepNesting],
    [namesInThemselves],
    [equalReferences],
    [valuesInCalls],
    [valuesInEstimates],
  ],
  people: [
    // First, because memory left by other attacks would count as growth.
    [sentAhead],
    [unreadLists],
    [headerBlanks],
    [nestedSignIns],
    [signInsOfALine],
    [usageAsCsv],
    [longNames],
    [halfSentChanges],
    [manyChanges, givenAway],
    [providerErrors],
    [refusals],
    [ownLists],
  ],
  money: [
    [leaving, leavingEarly, leavingAPlan, usageTricks, planWindow],
    overdrafts.slice(0, 4),
    overdrafts.slice(4, 7),
    overdrafts.slice(7),
    [continuedResponses, planTokens],
    [hugeUsage, namedModels, forms, foldedMembers, pictureSize, references, namedState],
    [endlessBodies],
    [allConnections],
    [adminGuesses],
    [unreadEnds],
  ],
  fewConnections: [[silentSockets]],
};

export const ATTACKS: readonly Attack[] = Object.values(STAGES).flat(2);

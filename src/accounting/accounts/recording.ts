/**
 * Who made a call, as far as it was recorded (`docs/callers.md`). A member that was not sent, or is not recorded, is absent.
 */
export interface RecordedCaller {
  readonly clientAddress?: string;
  /** Product tokens of the user agent. */
  readonly program?: string;
  /** The end user whom the request names. */
  readonly endUser?: string;
  /** Tags in the order of the request, at least one. */
  readonly tags?: readonly string[];
}

/** Facts about callers that are recorded only if the account or the configuration asks for them (`docs/callers.md`). */
export const RECORDED_FACTS = ['clientAddress', 'program', 'endUser'] as const;
export type RecordedFact = (typeof RECORDED_FACTS)[number];

/** Which facts about callers are recorded. */
export type Recording = { readonly [Fact in RecordedFact]: boolean };
/** An absent member is unchanged. */
export type RecordingChange = { readonly [Fact in RecordedFact]?: boolean | undefined };

export const recordingOrNull = (recording: Recording): Recording | null =>
  RECORDED_FACTS.some((fact) => recording[fact]) ? recording : null;

/** What is recorded if any of several settings asks for it. */
export function recordingInForce(...settings: readonly (Recording | null)[]): Recording {
  const isRecorded = (fact: RecordedFact) => settings.some((each) => each?.[fact] === true);
  return {
    clientAddress: isRecorded('clientAddress'),
    program: isRecorded('program'),
    endUser: isRecorded('endUser'),
  };
}

/** What each of some functions takes, all of it together. */
export type PartsOf<Makers extends readonly ((parts: never) => unknown)[]> = Makers[number] extends (
  parts: infer Parts,
) => unknown
  ? Parts
  : never;

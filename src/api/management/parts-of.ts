/** The intersection of the parameters of some functions. */
export type PartsOf<Makers extends readonly ((parts: never) => unknown)[]> = Makers[number] extends (
  parts: infer Parts,
) => unknown
  ? Parts
  : never;

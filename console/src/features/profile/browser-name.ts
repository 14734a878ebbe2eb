const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Version', 'Safari'],
] as const;

const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'] as const;

/** Browser and system of a user agent, such as `Firefox 140, Linux`; the full text if it is unknown. */
export function browserOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  for (const [token, name] of BROWSERS) {
    const version = new RegExp(`\\b${token}/(\\d+)`).exec(userAgent)?.[1];
    if (version === undefined) continue;
    const system = SYSTEMS.find((each) => userAgent.includes(each));
    return [`${name} ${version}`, ...(system === undefined ? [] : [system === 'Mac OS X' ? 'macOS' : system])].join(
      ', ',
    );
  }
  return userAgent;
}

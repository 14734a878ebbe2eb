/** What people see in place of the name and the logo of Faregate. The gateway writes it into the page (`src/api/console/branding.ts`). */
export interface Branding {
  readonly name: string;
  /** Address of the logo. */
  readonly logo: string;
  /** An e-mail address or an https address. */
  readonly supportAddress: string | null;
}

const PLAIN: Branding = { name: 'Faregate', logo: '/console/icon.svg', supportAddress: null };

export const BRANDING: Branding = readBranding();

function readBranding(): Branding {
  const written = document.querySelector<HTMLMetaElement>('meta[name="branding"]')!.content;
  // Empty: nothing is set. Vite's server leaves the placeholder.
  return written.startsWith('{') ? (JSON.parse(written) as Branding) : PLAIN;
}

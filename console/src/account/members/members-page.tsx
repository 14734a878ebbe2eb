import { Page } from '../../parts/page.tsx';

export function MembersPage() {
  return <Page title="…">{null}</Page>;
}

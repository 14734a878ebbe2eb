import { Page } from '../../parts/page.tsx';

export function UsersPage() {
  return <Page title="…">{null}</Page>;
}

import { Page } from '../parts/page.tsx';

export function ProfilePage() {
  return <Page title="…">{null}</Page>;
}

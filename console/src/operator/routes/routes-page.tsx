import { Page } from '../../parts/page.tsx';

export function RoutesPage() {
  return <Page title="…">{null}</Page>;
}

import { Component, type ReactNode } from 'react';
import { ErrorNotice } from '../parts/notices.tsx';

interface State {
  readonly error: Error | null;
}

/** Shows errors of a page inside the frame. Retry reloads the page, because a new version may have replaced its code. */
export class PageFrame extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <ErrorNotice error={error} onRetry={() => window.location.reload()} />;
  }
}

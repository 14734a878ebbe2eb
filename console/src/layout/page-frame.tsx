import { Component, type ReactNode } from 'react';
import { ErrorNotice } from '../parts/notices.tsx';

interface State {
  readonly error: Error | null;
}

/** Shows what went wrong within a page, and the frame around it stays. A page that a new version has replaced is loaded anew. */
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

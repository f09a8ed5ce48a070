import { createRoot } from 'react-dom/client'
import ComponentsPage from '../../src/dev/ComponentsPage.tsx'
import { Toasts } from '../../src/ui/overlay/Toasts.tsx'
import '../../src/styles/tokens.css'
import '../../src/styles/base.css'

// The page of all components without a server behind it, and with the messages that the dashboard's frame shows.
createRoot(document.getElementById('root') as HTMLElement).render(
  <>
    <ComponentsPage />
    <Toasts shown={undefined} />
  </>,
)

import { Outlet, useNavigate, useParams, useRouterState } from '@tanstack/react-router'
import { Suspense, useEffect, useEffectEvent, useState } from 'react'
import { warmUpMarkdown } from '../../markdown/warm-up.ts'
import { countNeedsYou, sessionBeside } from '../../panes/sidebar/groups.logic.ts'
import { useFleet, useFleetStore, useParked, useStatus } from '../../state/fleet/use-fleet.ts'
import { useProjectFilter } from '../../state/kept/project-filter.ts'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { late } from '../../ui/overlay/late.tsx'
import { Toasts } from '../../ui/overlay/Toasts.tsx'
import { sessionTitle } from '../../words/session-title.ts'
import { OfflineBanner } from './OfflineBanner.tsx'
import { PhoneTabs } from './PhoneTabs.tsx'
import { SideColumn, SideSheet } from './SideColumn.tsx'
import { StatusBar } from './StatusBar.tsx'
import { ShellContext, type ShellDialog } from './shell-context.ts'
import { shortcutOf } from './shortcuts.ts'
import { TopBar } from './TopBar.tsx'
import { useEarlyKeys } from './use-early-keys.ts'
import './shell.css'

const Palette = late(() => import('../dialogs/Palette.tsx'))
const Shortcuts = late(() => import('../dialogs/Shortcuts.tsx'))
const NotificationDialog = late(() => import('../dialogs/NotificationDialog.tsx'))
const BrowsersDialog = late(() => import('../dialogs/BrowsersDialog.tsx'))
const Tray = late(() => import('../../panes/decisions/Tray.tsx'))
const ProcessesDialog = late(() => import('../../panes/session/ProcessesDialog.tsx'))
const LimitsDialog = late(() => import('../../panes/session/LimitsDialog.tsx'))
const NewSessionDialog = late(() => import('../../panes/sidebar/NewSessionDialog.tsx'))

const PREFETCH_MS = 1500

/** One that cannot be fetched now is asked for again when it is needed. */
function preloadDialogs(): void {
  for (const part of [Palette, Tray, NewSessionDialog]) part.preload().catch(() => undefined)
}

/** The frame around every page: who needs me, where I am, and what is one key away. */
export function Shell() {
  const [dialog, setDialog] = useState<ShellDialog | null>(null)
  const navigate = useNavigate()
  const path = useRouterState({ select: state => state.location.pathname })
  const { sessionId } = useParams({ strict: false })
  const fleet = useFleetStore()
  const project = useProjectFilter()
  const close = () => setDialog(null)
  const goBy = (step: 1 | -1) => {
    const listed = fleet.list().filter(({ projectRoot }) => project === null || projectRoot === project)
    const next = sessionBeside(listed, sessionId, step)
    if (next !== undefined) void navigate({ to: '/s/$sessionId', params: { sessionId: next } })
  }
  const early = useEarlyKeys(dialog, close)

  // Who presses Ctrl K goes on typing at once.
  useEffect(() => void setTimeout(preloadDialogs, PREFETCH_MS), [])
  // Nor does anybody wait for the first answer that is drawn.
  useEffect(() => void setTimeout(warmUpMarkdown, PREFETCH_MS), [])

  // A sheet has done its job when it led somewhere.
  // The path is what it waits for.
  useEffect(
    () => setDialog(current => (current?.kind === 'sidebar' || current?.kind === 'tray' ? null : current)),
    [path],
  )

  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const shortcut = shortcutOf(event, isTyping(event.target))
    if (shortcut === undefined || (dialog !== null && shortcut !== 'palette')) return
    if (shortcut === 'fleet') void navigate({ to: '/fleet' })
    else if (shortcut === 'home') void navigate({ to: '/' })
    else if (shortcut === 'next-session') goBy(1)
    else if (shortcut === 'previous-session') goBy(-1)
    else if (shortcut === 'compose') document.getElementById('composer')?.focus()
    else setDialog({ kind: shortcut })
    event.preventDefault()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => window.removeEventListener('keydown', listener)
  }, [])

  return (
    <ShellContext value={{ dialog, open: setDialog, close }}>
      <div className="shell">
        <PageTitle />
        <SkipLink />
        <OfflineBanner />
        <div className="shell__side">
          <SideColumn />
        </div>
        <main id="main" className="sheet" tabIndex={-1}>
          <TopBar />
          <div className="sheet__body">
            <Outlet />
          </div>
        </main>
        <StatusBar />
        <PhoneTabs />
        <Toasts shown={sessionId} />
        {dialog?.kind === 'sidebar' ? (
          <Dialog title="Sessions" place="left" onClose={close}>
            <SideSheet />
          </Dialog>
        ) : null}
        <Suspense>
          {dialog?.kind === 'palette' ? <Palette typed={early} onClose={close} /> : null}
          {dialog?.kind === 'shortcuts' ? <Shortcuts onClose={close} /> : null}
          {dialog?.kind === 'notifications' ? <NotificationDialog onClose={close} /> : null}
          {dialog?.kind === 'browsers' ? <BrowsersDialog onClose={close} /> : null}
          {dialog?.kind === 'processes' ? (
            <ProcessesDialog sessionId={dialog.sessionId} onClose={close} />
          ) : null}
          {dialog?.kind === 'limits' ? <LimitsDialog sessionId={dialog.sessionId} onClose={close} /> : null}
          {dialog?.kind === 'tray' ? <Tray onClose={close} /> : null}
          {dialog?.kind === 'new-session' ? (
            <NewSessionDialog project={dialog.project} onClose={close} />
          ) : null}
        </Suspense>
      </div>
    </ShellContext>
  )
}

/** Past the list of sessions, which can be long, to what one came for. */
function SkipLink() {
  const skip = () => {
    const field = document.getElementById('composer') ?? document.getElementById('main')
    field?.focus()
  }
  return (
    <button type="button" className="skip-link" onClick={skip}>
      Skip to the message field
    </button>
  )
}

/** The tab says how many wait, so that it can be seen from another one. Apart: it follows every session, the shell none. */
function PageTitle() {
  const { sessionId } = useParams({ strict: false })
  const status = useStatus(sessionId ?? '')
  const waiting = countNeedsYou(useFleet(), useParked())
  const title = `${waiting > 0 ? `(${waiting}) ` : ''}${status ? `${sessionTitle(status)} · ` : ''}Chirality`
  useEffect(() => {
    document.title = title
  }, [title])
  return null
}

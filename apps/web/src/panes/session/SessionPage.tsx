import { GO_ON } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { type CSSProperties, Suspense, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { awayWords } from '../../app/project.ts'
import { useShell } from '../../app/shell/shell-context.ts'
import { storedSessions } from '../../state/fleet/stored-sessions.ts'
import { useFleetLoaded, useFleetStore, useStatus } from '../../state/fleet/use-fleet.ts'
import { setLayout, useLayout } from '../../state/kept/layout.ts'
import { markSeen } from '../../state/kept/seen.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient, useHarness } from '../../state/server/use-client.ts'
import { workFolder } from '../../state/server/work-place.ts'
import { sendMessage } from '../../state/session/send-message.ts'
import {
  ProjectRootContext,
  SessionActionsContext,
  SessionContext,
  useSessionHub,
} from '../../state/session/use-session.ts'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { useNoField } from '../../ui/keys/use-no-field.ts'
import { Empty } from '../../ui/marks/Empty.tsx'
import { late } from '../../ui/overlay/late.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { WORKING_TREE } from '../changes/changes.logic.ts'
import { type ChatHandle, ChatPane, Skeleton } from '../chat/ChatPane.tsx'
import { AfterDemo } from '../chat/FirstMessage.tsx'
import { Composer } from '../composer/Composer.tsx'
import { isPanelSheet, PANEL_TABS, type PanelTab } from './panel-place.ts'
import { SidePanel } from './SidePanel.tsx'
import './session.css'

const Contents = late(() => import('../find/Contents.tsx'))
const BackDialog = late(() => import('./BackDialog.tsx'))
const ForkDialog = late(() => import('./ForkDialog.tsx'))
const AwayNotice = late(() => import('./AwayNotice.tsx'))
const OutputView = late(() => import('../output/OutputView.tsx'))

export function SessionPage() {
  const { sessionId = '' } = useParams({ strict: false })
  const status = useStatus(sessionId)
  const loaded = useFleetLoaded()
  if (status) return <OpenSession key={sessionId} status={status} />
  return loaded ? <MissingSession key={sessionId} sessionId={sessionId} /> : <Skeleton />
}

/** A session that was made a moment ago is asked for before it is said to be missing. */
function MissingSession({ sessionId }: { sessionId: string }) {
  const client = useClient()
  const fleet = useFleetStore()
  const { isPending } = useQuery({
    queryKey: [...client.sessions.list.queryKey(), 'missing', sessionId],
    queryFn: async () => {
      fleet.setStored(await storedSessions(client))
      return null
    },
    gcTime: 0,
  })
  useNoField(!isPending)
  if (isPending) return <Skeleton />
  return (
    <Empty page title="There is no such session here">
      <p>It may have been deleted, or belong to a project that this server does not have.</p>
      <Link to="/">To the start page</Link>
    </Empty>
  )
}

function OpenSession({ status }: { status: SessionStatus }) {
  const { sessionId, lastSeq } = status
  const { turnId } = useParams({ strict: false })
  const { at } = useSearch({ strict: false })
  const hub = useSessionHub()
  const store = hub.store(sessionId)
  const chat = useRef<ChatHandle>(null)
  const [tab, setTab] = useState<PanelTab>('changes')
  const [scope, setScope] = useState(WORKING_TREE)
  const shell = useShell()
  const { panel, panelWidth } = useLayout()
  const showPane = (pane: PanelTab) => {
    setTab(pane)
    if (isPanelSheet()) shell.open({ kind: 'panel' })
    else setLayout({ panel: 'open' })
  }
  const showChanges = useEffectEvent((id: string) => {
    setScope(id)
    showPane('changes')
  })
  const [forking, setForking] = useState<{ atSeq: number | undefined } | null>(null)
  const [onFork] = useState(() => (atSeq: number | undefined) => setForking({ atSeq }))
  const basic = useActions(status, onFork)
  const [output, setOutput] = useState<string | null>(null)
  const [backTo, setBackTo] = useState<string | null>(null)
  const isAway = awayWords(status.machine) !== null
  const actions = useMemo(
    () => ({
      ...{ ...basic, showChanges: (id: string) => showChanges(id), showOutput: setOutput },
      ...(isAway ? {} : { goBack: setBackTo }),
    }),
    [basic, isAway],
  )

  // How long the log was when it was opened is all that counts.
  useEffect(() => hub.follow(sessionId, lastSeq), [hub, sessionId])
  useEffect(() => markSeen(sessionId, lastSeq), [sessionId, lastSeq])
  // Only what rests can be news elsewhere; a turn that runs would be a call for each event.
  const rests = status.phase === 'idle'
  const client = useClient()
  useEffect(() => {
    if (rests && lastSeq > 0)
      client.sessions.markRead.mutate({ sessionId, seq: lastSeq }).catch(() => undefined)
  }, [client, sessionId, lastSeq, rests])

  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (isFindKey(event) && !document.querySelector('dialog[open]')) {
      // Pressed once more, it is the browser's own.
      if (chat.current?.find()) event.preventDefault()
      return
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return
    // The panes may be a dialog themselves; one that lies over them has its own keys.
    const own = shell.dialog?.kind === 'panel' ? 1 : 0
    if (document.querySelectorAll('dialog[open]').length > own) return
    const byNumber = PANEL_TABS[Number(event.key) - 1]
    if (event.key === 't') shell.open({ kind: 'contents' })
    else if (event.key === '[') chat.current?.jumpTurn(-1)
    else if (event.key === ']') chat.current?.jumpTurn(1)
    else if (event.key === 'End') chat.current?.jumpToEnd()
    else if (byNumber) showPane(byNumber.id)
    else return
    event.preventDefault()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => window.removeEventListener('keydown', listener)
  }, [])

  return (
    <SessionContext value={store}>
      <ProjectRootContext value={workFolder(status)}>
        <SessionActionsContext value={actions}>
          <div
            className={panel === 'open' ? 'session' : 'session session--wide'}
            style={{ '--w-panel': `${panelWidth}px` } as CSSProperties}
          >
            <div className="session__talk">
              <ChatPane ref={chat} turnId={turnId} at={at} />
              <AfterDemo status={status} />
              {status.machine && status.machine.state !== 'here' ? (
                <Suspense fallback={null}>
                  <AwayNotice {...{ sessionId, harness: status.harness, machine: status.machine }} />
                </Suspense>
              ) : (
                <Composer status={status} />
              )}
            </div>
            <SidePanel
              {...{ status, tab, scope }}
              onTab={setTab}
              onScope={setScope}
              onTurn={id => chat.current?.jumpToTurn(id)}
            />
          </div>
          <Suspense>
            {shell.dialog?.kind === 'contents' ? (
              <Contents
                current={chat.current?.currentTurn() ?? null}
                onTurn={id => {
                  shell.close()
                  chat.current?.jumpToTurn(id)
                }}
                onFind={() => {
                  flushSync(shell.close)
                  chat.current?.find()
                }}
                onClose={shell.close}
              />
            ) : null}
            {backTo === null ? null : (
              <BackDialog sessionId={sessionId} turnId={backTo} onClose={() => setBackTo(null)} />
            )}
            {output === null ? null : <OutputView toolId={output} onClose={() => setOutput(null)} />}
            {forking ? (
              <ForkDialog status={status} atSeq={forking.atSeq} onClose={() => setForking(null)} />
            ) : null}
          </Suspense>
        </SessionActionsContext>
      </ProjectRootContext>
    </SessionContext>
  )
}

/** The browser's search knows only what is drawn, and of a long conversation that is little. */
function isFindKey({ key, ctrlKey, metaKey, altKey, shiftKey, target }: KeyboardEvent): boolean {
  if (altKey || shiftKey) return key === '/' && !altKey && !ctrlKey && !metaKey && !isTyping(target)
  if (ctrlKey || metaKey) return key.toLowerCase() === 'f'
  return key === '/' && !isTyping(target)
}

/** Actions on a message that the harness of the session can do. */
function useActions(status: SessionStatus, onFork: (atSeq: number | undefined) => void) {
  const client = useClient()
  const hub = useSessionHub()
  const can = useHarness(status.harness)?.capabilities
  const { sessionId } = status
  const isAway = awayWords(status.machine) !== null
  return useMemo(() => {
    const failed = (error: unknown) => toasts.error(messageOf(error), sessionId)
    // A second click of the same hand would be a second turn.
    const isUnderWay = new Set<string>()
    const once = (what: string, action: () => Promise<unknown>) => {
      if (isUnderWay.has(what)) return
      isUnderWay.add(what)
      void action()
        .catch(failed)
        .finally(() => isUnderWay.delete(what))
    }
    const retry = (text: string, turnId: string | null) =>
      once(`retry ${turnId}`, () =>
        sendMessage(client, sessionId, { text, ...(turnId ? { retryOfTurnId: turnId } : {}) }),
      )
    const goOn = (turnId: string | null) =>
      once(`go on ${turnId}`, () => sendMessage(client, sessionId, { text: GO_ON }))
    const fork = (turnId: string) => onFork(hub.store(sessionId).get().extras.turnEnds[turnId])
    // In place of the composer stands why there is none of these.
    if (isAway) return {}
    return { retry, goOn, ...(can?.supportsFork ? { fork } : {}) }
  }, [client, hub, sessionId, can, onFork, isAway])
}

import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { type RefObject, useDeferredValue, useLayoutEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import { PANEL_TABS } from '../../panes/session/panel-place.ts'
import { toneOf } from '../../panes/sidebar/groups.logic.ts'
import { hitPlace, hitTitle, Snippet } from '../../panes/sidebar/SearchHit.tsx'
import { MIN_SEARCH_CHARS } from '../../panes/sidebar/Sidebar.tsx'
import { sessionTitle } from '../../panes/sidebar/session-title.ts'
import { useListActions } from '../../panes/sidebar/use-list-actions.ts'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import { useApi } from '../../state/server/use-api.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { projectName } from '../project.ts'
import { useShell } from '../shell/shell-context.ts'
import './palette.css'

/** Newest first; the rest is found by typing, and commands are in view. */
const SHOWN_SESSIONS = 5
const SHOWN_HITS = 8

interface PaletteCommand {
  label: string
  keys?: string
  run(): void
}

interface PaletteProps {
  /** What was typed before it was there. */
  typed: RefObject<string>
  onClose(): void
}

export default function Palette({ typed, onClose }: PaletteProps) {
  const [text, setText] = useState('')
  // Not when it is drawn, but when it takes the keys: some may come between.
  useLayoutEffect(() => setText(typed.current), [])
  const shell = useShell()
  const navigate = useNavigate()
  const actions = useListActions()
  const sessions = [...useFleet()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
  const { sessionId: open } = useParams({ strict: false })
  // Where one is already is nowhere to go.
  const others = sessions.filter(({ sessionId }) => sessionId !== open)
  const shown = text === '' ? others.slice(0, SHOWN_SESSIONS) : others
  const goTo = (sessionId: string) => void navigate({ to: '/s/$sessionId', params: { sessionId } })
  const run = (action: () => void) => () => {
    // The dialog is gone first, because keys are its own while it is open; and at once, because the next key is not.
    flushSync(onClose)
    action()
  }
  const api = useApi()
  const wanted = useDeferredValue(text.trim())
  const search = useQuery({
    queryKey: ['search', wanted],
    queryFn: () => api.search(wanted),
    enabled: wanted.length >= MIN_SEARCH_CHARS,
    retry: false,
  })
  const hits = wanted.length >= MIN_SEARCH_CHARS ? (search.data ?? []).slice(0, SHOWN_HITS) : []
  const needy = others.find(({ pending }) => pending.length > 0)
  const commands: PaletteCommand[] = [
    { label: 'New session', keys: 'N', run: () => shell.open({ kind: 'new-session' }) },
    ...(needy
      ? [{ label: 'Next session that needs me', run: () => goTo(needy.sessionId) } satisfies PaletteCommand]
      : []),
    { label: 'What waits for me', keys: 'W', run: () => shell.open({ kind: 'tray' }) },
    ...(open === undefined
      ? []
      : [
          ...sessionCommands(),
          { label: 'Limits of this session', run: () => shell.open({ kind: 'limits', sessionId: open }) },
          {
            label: 'Processes of this session',
            run: () => shell.open({ kind: 'processes', sessionId: open }),
          },
          { label: 'Archive this session', run: () => actions.shelve([open], 'archived') },
          { label: 'Pin this session', run: () => actions.shelve([open], 'pinned') },
        ]),
    { label: 'All sessions on one page', keys: 'F', run: () => void navigate({ to: '/fleet' }) },
    { label: 'Start page', keys: 'H', run: () => void navigate({ to: '/' }) },
    { label: 'Usage', run: () => void navigate({ to: '/usage' }) },
    { label: 'Settings', run: () => void navigate({ to: '/settings' }) },
    {
      label: 'Permission rules',
      run: () => void navigate({ to: '/settings/$section', params: { section: 'permissions' } }),
    },
    {
      label: 'Tool servers (MCP)',
      run: () => void navigate({ to: '/settings/$section', params: { section: 'tools' } }),
    },
    {
      label: 'Personas',
      run: () => void navigate({ to: '/settings/$section', params: { section: 'personas' } }),
    },
    {
      label: 'Appearance and theme',
      run: () => void navigate({ to: '/settings/$section', params: { section: 'appearance' } }),
    },
    { label: 'Notifications', run: () => shell.open({ kind: 'notifications' }) },
    { label: 'Signed-in browsers', run: () => shell.open({ kind: 'browsers' }) },
    { label: 'Shortcuts', keys: '?', run: () => shell.open({ kind: 'shortcuts' }) },
  ]
  return (
    <Dialog title="Find" place="top" bare onClose={onClose}>
      <Command className="palette" label="Find a session, a conversation or a command" filter={hasAllWords}>
        <Command.Input
          className="palette__input"
          value={text}
          onValueChange={setText}
          placeholder="Find a session or a command"
          data-first
        />
        <Command.List className="palette__list" label="Results">
          <Command.Empty className="palette__empty">Nothing found.</Command.Empty>
          {shown.length > 0 ? (
            <Command.Group heading="Sessions">
              {shown.map(status => (
                <Command.Item
                  key={status.sessionId}
                  value={`${sessionTitle(status)} ${projectName(status.projectRoot)} ${status.sessionId}`}
                  onSelect={run(() => goTo(status.sessionId))}
                >
                  <span className="palette__session">
                    <Dot tone={toneOf(status)} />
                    <span className="truncate">{sessionTitle(status)}</span>
                  </span>
                  <span className="palette__note">{projectName(status.projectRoot)}</span>
                </Command.Item>
              ))}
            </Command.Group>
          ) : null}
          <Command.Group heading="Commands">
            {commands.map(command => (
              <Command.Item key={command.label} onSelect={run(command.run)}>
                {command.label}
                {command.keys ? <Kbd>{command.keys}</Kbd> : null}
              </Command.Item>
            ))}
          </Command.Group>
          {hits.length > 0 ? (
            <Command.Group heading="In conversations">
              {hits.map(hit => (
                <Command.Item
                  key={`${hit.sessionId} ${hit.seq}`}
                  value={`${wanted} ${hit.sessionId} ${hit.seq}`}
                  onSelect={run(() => void navigate(hitPlace(hit)))}
                >
                  <span className="palette__hit">
                    <span className="truncate">{hitTitle(hit, sessions)}</span>
                    <span className="palette__excerpt truncate">
                      <Snippet excerpt={hit.excerpt} query={wanted} />
                    </span>
                  </span>
                </Command.Item>
              ))}
            </Command.Group>
          ) : null}
        </Command.List>
      </Command>
    </Dialog>
  )
}

/** Words, not letters that happen to come in that order. */
export function hasAllWords(value: string, search: string): number {
  const words = search.toLowerCase().split(/\s+/)
  return words.every(word => value.toLowerCase().includes(word)) ? 1 : 0
}

/** What the keys of the page in view do. */
function sessionCommands(): PaletteCommand[] {
  const press = (key: string, shiftKey = false) =>
    window.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey }))
  return [
    { label: 'Write a message', keys: 'I', run: () => press('i') },
    { label: 'Find in this conversation', keys: '/', run: () => press('/') },
    { label: 'Contents of this conversation', keys: 'T', run: () => press('t') },
    ...PANEL_TABS.map(({ label }, index) => ({
      label: `Show ${label}`,
      keys: String(index + 1),
      run: () => press(String(index + 1)),
    })),
    { label: 'Stop the turn', keys: 'Shift Esc', run: () => press('Escape', true) },
  ]
}

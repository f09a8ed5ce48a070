import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { type ReactNode, type RefObject, useDeferredValue, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { PANEL_TABS } from '../../panes/session/panel-place.ts'
import { SETTINGS_SECTIONS } from '../../panes/settings/sections.ts'
import { toneOf } from '../../panes/sidebar/groups.logic.ts'
import { FoundText, hitPlace, hitsIn, hitTitle, Snippet } from '../../panes/sidebar/SearchHit.tsx'
import { MIN_SEARCH_CHARS } from '../../panes/sidebar/Sidebar.tsx'
import { useListActions } from '../../panes/sidebar/use-list-actions.ts'
import { useFleet } from '../../state/fleet/use-fleet.ts'
import { setTheme } from '../../state/kept/theme.ts'
import type { SearchHit } from '../../state/server/answers.ts'
import { useClient, useProjects } from '../../state/server/use-client.ts'
import { Dot } from '../../ui/marks/Dot.tsx'
import { Icon, type IconName } from '../../ui/marks/Icon.tsx'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { type Findable, rank, scoreOf } from '../../ui/text/rank.ts'
import { sessionTitle } from '../../words/session-title.ts'
import { placeName, toSlug } from '../project.ts'
import { NAV_PAGES } from '../shell/pages.ts'
import { useShell } from '../shell/shell-context.ts'
import './palette.css'

/** Newest first; the rest is found by typing, and commands are in view. */
const SHOWN_SESSIONS = 5
const FOUND_SESSIONS = 50
const SHOWN_HITS = 8

interface PaletteEntry extends Findable {
  id: string
  mark: ReactNode
  note?: string
  keys?: string
  run(): void
}

interface PaletteGroup {
  heading: string
  entries: readonly PaletteEntry[]
}

interface PaletteProps {
  /** Text typed before the field was there. */
  typed: RefObject<string>
  onClose(): void
}

/** One field for everything: what fits best stands first, and what was said in conversations comes after what can be done. */
export default function Palette({ typed, onClose }: PaletteProps) {
  const [text, setText] = useState('')
  // Not when it is drawn, but when it takes the keys: some may come between.
  useLayoutEffect(() => setText(typed.current), [])
  const list = useRef<HTMLDivElement>(null)
  // The best one is the first, wherever one had scrolled to.
  useLayoutEffect(() => list.current?.scrollTo(0, 0), [text])
  const sessions = useSessionEntries(text)
  const found = [sessions, ...usePlaces()]
    .map(({ heading, entries }) => ({ heading, entries: rank(entries, text) }))
    .filter(({ entries }) => entries.length > 0)
  const best = ({ entries: [first] }: PaletteGroup) => (first && text !== '' ? scoreOf(first, text) : 0)
  const groups = found.toSorted((a, b) => best(b) - best(a))
  const hits = useHits(text)
  const run = (action: () => void) => () => {
    // The dialog is gone first, because keys are its own while it is open; and at once, because the next key is not.
    flushSync(onClose)
    action()
  }
  return (
    <Dialog title="Find" place="top" bare onClose={onClose}>
      <Command
        className="palette"
        label="Find a session, a conversation or a command"
        shouldFilter={false}
        loop
      >
        <Command.Input
          className="palette__input"
          value={text}
          onValueChange={setText}
          placeholder="Find a session or a command"
          data-first
        />
        <Command.List ref={list} className="palette__list" label="Results">
          <Command.Empty className="palette__empty">Nothing found.</Command.Empty>
          {groups.map(({ heading, entries }) => (
            <Command.Group key={heading} heading={heading}>
              {entries.map(entry => (
                <Command.Item key={entry.id} value={entry.id} onSelect={run(entry.run)}>
                  <span className="palette__name">
                    {entry.mark}
                    <span className="truncate">
                      <FoundText text={entry.label} query={text} />
                    </span>
                  </span>
                  {entry.note ? <span className="palette__note truncate">{entry.note}</span> : null}
                  {entry.keys ? <Kbd>{entry.keys}</Kbd> : null}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
          {hits.list.length > 0 ? (
            <Command.Group heading="In conversations">
              {hits.list.map(({ hit, title, open }) => (
                <Command.Item
                  key={`${hit.sessionId} ${hit.seq}`}
                  value={`hit ${hit.sessionId} ${hit.seq}`}
                  onSelect={run(open)}
                >
                  <span className="palette__hit">
                    <span className="truncate">{title}</span>
                    <span className="palette__excerpt truncate">
                      <Snippet excerpt={hit.snippet} query={hits.query} />
                    </span>
                  </span>
                </Command.Item>
              ))}
            </Command.Group>
          ) : null}
        </Command.List>
        <p className="palette__keys" aria-hidden="true">
          <span>
            <Kbd>↑</Kbd> <Kbd>↓</Kbd> choose
          </span>
          <span>
            <Kbd>Enter</Kbd> open
          </span>
          <span>
            <Kbd>Esc</Kbd> close
          </span>
        </p>
      </Command>
    </Dialog>
  )
}

/** The one that changed last first. Where one is already is nowhere to go. */
function useSessionEntries(text: string): PaletteGroup {
  const navigate = useNavigate()
  const { sessionId: open } = useParams({ strict: false })
  const others = useFleet()
    .filter(({ sessionId }) => sessionId !== open)
    .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
  const entries = others.map((status): PaletteEntry => {
    const { sessionId } = status
    return {
      id: `session ${sessionId}`,
      label: sessionTitle(status),
      words: `${placeName(status)} ${sessionId}`,
      mark: <Dot tone={toneOf(status)} />,
      note: placeName(status),
      run: () => void navigate({ to: '/s/$sessionId', params: { sessionId } }),
    }
  })
  const shown = text === '' ? entries.slice(0, SHOWN_SESSIONS) : rank(entries, text).slice(0, FOUND_SESSIONS)
  return { heading: 'Sessions', entries: shown }
}

/** Commands and places of the palette. */
function usePlaces(): PaletteGroup[] {
  const shell = useShell()
  const navigate = useNavigate()
  const actions = useListActions()
  const { sessionId: open } = useParams({ strict: false })
  const fleet = useFleet()
  const needy = fleet.find(({ sessionId, pending }) => sessionId !== open && pending.length > 0)
  const projects = useProjects()
  const commands: PaletteEntry[] = [
    entry('plus', 'New session', () => shell.open({ kind: 'new-session' }), { keys: 'N', words: 'start' }),
    ...(needy
      ? [
          entry('hand', 'Next session that needs me', () =>
            navigate({ to: '/s/$sessionId', params: { sessionId: needy.sessionId } }),
          ),
        ]
      : []),
    entry('hand', 'What waits for me', () => shell.open({ kind: 'tray' }), {
      keys: 'W',
      words: 'decisions permissions',
    }),
    ...(open === undefined
      ? []
      : [
          ...sessionCommands(),
          entry('usage', 'Limits of this session', () => shell.open({ kind: 'limits', sessionId: open }), {
            words: 'budget steps',
          }),
          ...(fleet.find(({ sessionId }) => sessionId === open)?.machine
            ? []
            : [
                entry('terminal', 'Processes of this session', () =>
                  shell.open({ kind: 'processes', sessionId: open }),
                ),
              ]),
          entry('archive', 'Archive this session', () => actions.shelve([open], 'archived')),
          entry('pin', 'Pin this session', () => actions.shelve([open], 'pinned')),
        ]),
    entry('theme', 'Switch to dark', () => setTheme('dark'), { words: 'theme appearance' }),
    entry('light', 'Switch to light', () => setTheme('light'), { words: 'theme appearance' }),
    entry('keys', 'Shortcuts', () => shell.open({ kind: 'shortcuts' }), {
      keys: '?',
      words: 'keyboard help',
    }),
  ]
  const places: PaletteEntry[] = [
    ...NAV_PAGES.map(({ to, label, icon }) => entry(icon, label, () => navigate({ to }), PAGE_WORDS[to])),
    ...projects
      .filter(({ missing }) => !missing)
      .map(({ root, name }) => ({
        ...entry('folder', name, () => navigate({ to: '/p/$project', params: { project: toSlug(root) } })),
        id: `project ${root}`,
        note: 'Project',
        words: `project ${root}`,
      })),
    entry('settings', 'Settings', () => navigate({ to: '/settings' }), { words: 'preferences options' }),
    ...SETTINGS_SECTIONS.filter(({ id }) => id !== 'notifications').map(({ id, label, icon, words }) => ({
      ...entry(icon, label, () => navigate({ to: '/settings/$section', params: { section: id } })),
      id: `settings ${id}`,
      note: 'Settings',
      words: `settings ${words}`,
    })),
    entry('bell', 'Notifications', () => shell.open({ kind: 'notifications' }), { words: 'settings push' }),
    entry('screen', 'Signed-in browsers', () => shell.open({ kind: 'browsers' }), { words: 'sign out' }),
  ]
  return [
    { heading: 'Do', entries: commands },
    { heading: 'Go to', entries: places },
  ]
}

type EntryFields = Pick<PaletteEntry, 'keys' | 'words'>

function entry(icon: IconName, label: string, run: () => unknown, fields: EntryFields = {}): PaletteEntry {
  return { id: label, label, mark: <Icon name={icon} />, run: () => void run(), ...fields }
}

const PAGE_WORDS: Readonly<Record<(typeof NAV_PAGES)[number]['to'], EntryFields>> = {
  '/': { keys: 'H', words: 'start page' },
  '/fleet': { keys: 'F', words: 'fleet overview archived import on one page' },
  '/loops': { words: 'tasks unattended overnight' },
  '/schedules': { words: 'cron times every day nightly' },
  '/usage': { words: 'cost tokens spend charts plan quota' },
}

/** Search hits in conversations, from the server. */
function useHits(text: string) {
  const client = useClient()
  const navigate = useNavigate()
  const statuses = useFleet()
  const query = useDeferredValue(text.trim())
  const isLong = query.length >= MIN_SEARCH_CHARS
  const { data } = useQuery(
    client.sessions.search.queryOptions(
      { query, limit: 20 },
      { enabled: isLong, retry: false, select: hitsIn },
    ),
  )
  const list = (isLong ? (data ?? []) : []).slice(0, SHOWN_HITS).map((hit: SearchHit) => ({
    hit,
    title: hitTitle(hit, statuses),
    open: () => void navigate(hitPlace(hit)),
  }))
  return { query, list }
}

/** Commands that press a key of the page in view. */
function sessionCommands(): PaletteEntry[] {
  const press = (key: string, shiftKey = false) =>
    window.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey }))
  return [
    entry('edit', 'Write a message', () => press('i'), { keys: 'I' }),
    entry('search', 'Find in this conversation', () => press('/'), { keys: '/' }),
    entry('contents', 'Contents of this conversation', () => press('t'), { keys: 'T', words: 'turns' }),
    ...PANEL_TABS.map(({ label }, index) =>
      entry('panel', `Show ${label}`, () => press(String(index + 1)), { keys: String(index + 1) }),
    ),
    entry('stop', 'Stop the turn', () => press('Escape', true), { keys: 'Shift Esc' }),
  ]
}

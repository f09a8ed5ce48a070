import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, type RefObject, useId, useState } from 'react'
import { flushSync } from 'react-dom'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { filePlace } from '../../state/server/work-place.ts'
import { useSession } from '../../state/session/use-session.ts'
import {
  applyCompletion,
  completionAt,
  hasLetters,
  mentions,
  rank,
  splitMention,
} from './completion.logic.ts'

export interface Suggestion {
  name: string
  note: string | null
}

interface Options {
  status: SessionStatus
  text: string
  field: RefObject<HTMLTextAreaElement | null>
  onChange(text: string): void
}

const MAX_SHOWN = 8
const NO_COMMANDS: readonly string[] = []

/** Commands after a slash, files after an @. */
export function useCompletions({ status, text, field, onChange }: Options) {
  const client = useClient()
  const listId = useId()
  const [cursor, setCursor] = useState(0)
  const [active, setActive] = useState(0)
  const [dismissed, setDismissed] = useState<string | null>(null)
  const completion = completionAt(text, cursor)
  const known = useSession(({ extras }) => extras.slashCommands) ?? NO_COMMANDS
  const { harness, projectRoot } = status
  const commands = useQuery(
    client.harnesses.slashCommands.queryOptions(
      { harness: harness ?? '', project: projectRoot },
      { enabled: completion?.kind === 'command' && harness !== null, staleTime: Number.POSITIVE_INFINITY },
    ),
  ).data
  const { folder } = splitMention(completion?.kind === 'file' ? completion.typed : '')
  const listed = useQuery(
    client.files.tree.queryOptions(
      { ...filePlace(status), path: folder },
      { enabled: completion?.kind === 'file', retry: false },
    ),
  ).data
  const wanted = completion?.kind === 'file' ? completion.typed : ''
  const found = useQuery(
    client.files.find.queryOptions(
      { ...filePlace(status), query: wanted, limit: 20 },
      {
        enabled: wanted !== '' && !wanted.endsWith('/'), // What was found for fewer letters stands there until there is more to go by, as far as it still fits: Tab takes it.
        placeholderData: before => before?.filter(path => hasLetters(path, wanted)),
        retry: false,
      },
    ),
  ).data

  const suggestions = ((): Suggestion[] => {
    if (!completion || dismissed === `${completion.kind}${completion.start}`) return []
    if (completion.kind === 'command') {
      const notes = new Map((commands ?? []).map(({ name, description }) => [name, description ?? null]))
      const names = [...new Set([...notes.keys(), ...known])]
      return rank(names, completion.typed).map(name => ({ name, note: notes.get(name) ?? null }))
    }
    const here = (listed?.entries ?? []).map(({ name, kind }) => (kind === 'folder' ? `${name}/` : name))
    const path = folder === '' ? '' : `${folder}/`
    return mentions(
      here.map(name => path + name),
      found ?? [],
      completion.typed,
    ).map(name => ({
      name,
      note: null,
    }))
  })().slice(0, MAX_SHOWN)

  const choose = (name: string) => {
    if (!completion) return
    const result = applyCompletion(text, completion, name)
    // At once: who types on must not find the cursor somewhere else a moment later.
    flushSync(() => {
      onChange(result.text)
      setCursor(result.cursor)
      setActive(0)
    })
    field.current?.focus()
    field.current?.setSelectionRange(result.cursor, result.cursor)
  }

  const onKey = (event: KeyboardEvent): boolean => {
    const { length } = suggestions
    if (length === 0 || event.ctrlKey || event.metaKey) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const chosen = suggestions[Math.min(active, length - 1)]
    if (step !== undefined) setActive((active + step + length) % length)
    else if ((event.key === 'Enter' || event.key === 'Tab') && !event.shiftKey && chosen) choose(chosen.name)
    else if (event.key === 'Escape' && completion) setDismissed(`${completion.kind}${completion.start}`)
    else return false
    event.preventDefault()
    return true
  }

  return {
    listId,
    suggestions,
    active: Math.min(active, Math.max(0, suggestions.length - 1)),
    choose,
    onKey,
    onSelect: (event: { currentTarget: HTMLTextAreaElement }) => {
      const place = event.currentTarget.selectionStart
      if (place !== cursor) setActive(0)
      setCursor(place)
      if (!completionAt(event.currentTarget.value, place)) setDismissed(null)
    },
    fieldProps:
      suggestions.length > 0
        ? {
            role: 'combobox' as const,
            'aria-expanded': true,
            'aria-controls': listId,
            'aria-activedescendant': `${listId}-${Math.min(active, suggestions.length - 1)}`,
          }
        : {},
  }
}

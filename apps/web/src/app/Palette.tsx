import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { useState } from 'react'
import { sessionTitle } from '../panes/sidebar/session-title.ts'
import { useFleet } from '../state/use-fleet.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { projectName } from './project-name.ts'
import { useShell } from './shell-context.ts'
import './palette.css'

/** Newest first; the rest is found by typing. */
const SHOWN_SESSIONS = 30

export default function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState('')
  const shell = useShell()
  const navigate = useNavigate()
  const sessions = [...useFleet()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
  const shown = text === '' ? sessions.slice(0, SHOWN_SESSIONS) : sessions
  const run = (action: () => void) => () => {
    onClose()
    action()
  }
  const commands = [
    { label: 'New session', run: () => shell.open({ kind: 'new-session' }) },
    { label: 'What waits for me', run: () => shell.open({ kind: 'tray' }) },
    { label: 'All sessions on one page', run: () => void navigate({ to: '/fleet' }) },
    { label: 'Start page', run: () => void navigate({ to: '/' }) },
    { label: 'Shortcuts', run: () => shell.open({ kind: 'shortcuts' }) },
  ]
  return (
    <Dialog title="Find" place="top" bare onClose={onClose}>
      <Command className="palette" label="Find a session or a command">
        <Command.Input
          className="palette__input"
          value={text}
          onValueChange={setText}
          placeholder="Find a session or a command"
          data-first
        />
        <Command.List className="palette__list" label="Results">
          <Command.Empty className="palette__empty">Nothing found.</Command.Empty>
          <Command.Group heading="Sessions">
            {shown.map(status => (
              <Command.Item
                key={status.sessionId}
                value={`${sessionTitle(status)} ${projectName(status.projectRoot)} ${status.sessionId}`}
                onSelect={run(
                  () => void navigate({ to: '/s/$sessionId', params: { sessionId: status.sessionId } }),
                )}
              >
                <span className="truncate">{sessionTitle(status)}</span>
                <span className="palette__note">{projectName(status.projectRoot)}</span>
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Commands">
            {commands.map(command => (
              <Command.Item key={command.label} onSelect={run(command.run)}>
                {command.label}
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  )
}

import { own } from '../../ui/own.ts'

export type ShortcutAction =
  | 'palette'
  | 'shortcuts'
  | 'new-session'
  | 'tray'
  | 'fleet'
  | 'home'
  | 'compose'
  | 'next-session'
  | 'previous-session'

export interface Shortcut {
  keys: string
  does: string
}

/** Shortcuts that `?` lists. A pane's shortcuts work only while it is in view. */
export const SHORTCUTS: readonly { group: string; list: readonly Shortcut[] }[] = [
  {
    group: 'Everywhere',
    list: [
      { keys: 'Ctrl K', does: 'Find a session or a command' },
      { keys: 'N', does: 'New session' },
      { keys: 'J  K', does: 'Next and previous session in the list' },
      { keys: 'W', does: 'What waits for me, over all sessions' },
      { keys: 'F', does: 'All sessions on one page' },
      { keys: 'H', does: 'Start page' },
      { keys: '?', does: 'This list' },
    ],
  },
  {
    group: 'In a session',
    list: [
      { keys: 'I', does: 'Write a message' },
      { keys: 'Ctrl F  /', does: 'Find in the conversation' },
      { keys: 'T', does: 'Contents: the turns, and which one is in view' },
      { keys: '[  ]', does: 'Previous and next turn' },
      { keys: 'End', does: 'To the latest' },
      { keys: 'R  P  Z', does: 'Rename it, pin it, archive it, with an undo' },
      { keys: '1 … 5', does: 'Activity, Changes, Files, Raw, Persona' },
      { keys: 'Esc', does: 'Stop the turn, when nothing else is open and the field is empty' },
      { keys: 'Shift Esc', does: 'Stop the turn in any case; once more by force' },
    ],
  },
  {
    group: 'Review, while Changes are in view',
    list: [
      { keys: '.  ,', does: 'Next and previous change' },
      { keys: '>  <', does: 'Next and previous file' },
      { keys: 'X', does: 'Discard the change; Shift X the whole file' },
      { keys: 'U', does: 'Undo the last discard; Shift U does it again' },
      { keys: 'L', does: 'Comment on the line that changed' },
      { keys: 'C', does: 'Commit' },
      { keys: 'M', does: 'Merge into the base branch' },
      { keys: 'G', does: 'Push it, and open a pull request' },
      { keys: 'V  B', does: 'Side by side, ignore white space' },
    ],
  },
  {
    group: 'The topmost decision in view',
    list: [
      { keys: 'A', does: 'Allow, or go ahead with a plan' },
      { keys: 'Shift A', does: 'Always allow, by the rule that is shown' },
      { keys: 'E', does: 'Edit it, choose an answer, comment on a plan' },
      { keys: 'D', does: 'Deny, with a reason' },
      { keys: 'Ctrl Enter', does: 'Send what you edited' },
    ],
  },
  {
    group: 'While writing',
    list: [
      { keys: 'Enter', does: 'Send, or queue while a turn runs' },
      { keys: 'Ctrl Enter', does: 'Send now, into the turn that runs' },
      { keys: 'Shift Enter', does: 'New line' },
      { keys: '↑', does: 'Earlier messages, in an empty field' },
      { keys: '/  @', does: 'Commands and files' },
      { keys: 'Esc', does: 'Leave the field; the text stays' },
    ],
  },
]

type Key = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>

export function shortcutOf(event: Key, typing: boolean): ShortcutAction | undefined {
  const { key, ctrlKey, metaKey, altKey } = event
  if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k') return 'palette'
  if (typing || ctrlKey || metaKey || altKey) return undefined
  return own(PLAIN, key)
}

const PLAIN: Readonly<Record<string, ShortcutAction>> = {
  '?': 'shortcuts',
  n: 'new-session',
  w: 'tray',
  f: 'fleet',
  h: 'home',
  i: 'compose',
  j: 'next-session',
  k: 'previous-session',
}

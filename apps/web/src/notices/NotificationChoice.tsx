import { useSyncExternalStore } from 'react'
import { useClient } from '../state/server/use-client.ts'
import { Button } from '../ui/controls/Button.tsx'
import { toasts } from '../ui/overlay/toast-store.ts'
import { messageOf } from '../ui/text/error-message.ts'
import { withdrawAll } from './notice-board.ts'
import { type NotifyState, notifyState, turnOff, turnOn, watchNotifyState } from './notify-setting.ts'
import { stopPush } from './push-choice.ts'
import './notification-choice.css'

/** Whether there are notifications, and how to change that. `askOnly`: gone as soon as somebody decided. */
export function NotificationChoice({ askOnly = false }: { askOnly?: boolean }) {
  const client = useClient()
  const state = useSyncExternalStore(watchNotifyState, notifyState)
  if (askOnly && state !== 'ask') return null
  return (
    <div className="notification-choice">
      <p>{TEXTS[state]}</p>
      {state === 'ask' || state === 'off' ? (
        <Button size="small" onClick={() => void turnOn()}>
          Turn on
        </Button>
      ) : null}
      {state === 'on' ? (
        <Button
          size="small"
          onClick={() => {
            turnOff()
            void withdrawAll()
            void stopPush(client).catch(error =>
              toasts.error(`The server may still send messages to this browser: ${messageOf(error)}`),
            )
          }}
        >
          Turn off
        </Button>
      ) : null}
    </div>
  )
}

const TEXTS: Readonly<Record<NotifyState, string>> = {
  ask: 'Get a notification when a session needs an answer or ends?',
  on: 'Notifications are on: when a session needs an answer or ends while you are not looking at it, as long as this page is open in some tab.',
  off: 'Notifications are off.',
  denied:
    'Your browser blocks notifications of this page. To allow them, click the sign before the address (in an installed app: the menu of the window), and set Notifications to Allow.',
  unsupported:
    'This browser shows no notifications here. They need HTTPS or an address such as 127.0.0.1, and no private window.',
}

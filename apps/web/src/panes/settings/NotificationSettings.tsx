import { useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { NotificationChoice } from '../../notices/NotificationChoice.tsx'
import { notifyState, watchNotifyState } from '../../notices/notify-setting.ts'
import { startPush, stopPush } from '../../notices/push-choice.ts'
import type { PushDetail } from '../../state/server/answers.ts'
import { useAskAgain, useClient } from '../../state/server/use-client.ts'
import { Segmented } from '../../ui/controls/Segmented.tsx'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { SettingsHead } from './SettingsHead.tsx'

export function NotificationSettings() {
  return (
    <>
      <SettingsHead
        title="Notifications"
        about="One when a session needs an answer, and one when it ends, unless you are looking at it."
      />
      <div className="settings__card settings__card--padded">
        <NotificationChoice />
      </div>
      <PushChoice />
    </>
  )
}

/** Messages that come while no page is open, through the push service of this browser. */
function PushChoice() {
  const client = useClient()
  const askAgain = useAskAgain()
  const allowed = useSyncExternalStore(watchNotifyState, notifyState)
  const state = useQuery(client.system.push.queryOptions(undefined, { staleTime: 0, retry: false }))
  if (!('PushManager' in window) || state.data === undefined) return null
  const { publicKey, show } = state.data
  const change = async (wanted: PushDetail | 'off') => {
    try {
      await (wanted === 'off' ? stopPush(client) : startPush(client, publicKey, wanted))
    } catch (error) {
      toasts.error(`This browser could not be set up for messages: ${messageOf(error)}`)
    }
    await askAgain(client.system.push.queryFilter())
  }
  return (
    <div className="settings__card">
      <div className="settings__row">
        <div className="settings__what settings__what--first">
          <b>When no page is open</b>
          <span>
            {allowed === 'on'
              ? 'The message is encrypted for this browser and passes through the push service of its maker. It is answered on the page, after the device is unlocked.'
              : 'Turn notifications on first.'}
          </span>
        </div>
        {allowed === 'on' ? (
          <Segmented
            label="What a message shows"
            value={show ?? 'off'}
            segments={DETAILS}
            onChange={wanted => void change(wanted)}
          />
        ) : null}
      </div>
    </div>
  )
}

const DETAILS = [
  { value: 'off', label: 'Off' },
  { value: 'nothing', label: 'Needs you' },
  { value: 'name', label: 'Session name' },
  { value: 'text', label: 'Text' },
] as const

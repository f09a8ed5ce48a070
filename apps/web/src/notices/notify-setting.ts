const KEY = 'chirality-notify'
const OFF = 'off'

/** `ask`: nobody has decided yet. `denied`: only the browser's own settings can change that. */
export type NotifyState = 'unsupported' | 'ask' | 'denied' | 'off' | 'on'

export interface NotifyFacts {
  supported: boolean
  permission: NotificationPermission
  off: boolean
}

export function notifyStateOf({ supported, permission, off }: NotifyFacts): NotifyState {
  if (!supported) return 'unsupported'
  if (permission === 'denied') return 'denied'
  if (permission === 'default') return 'ask'
  return off ? 'off' : 'on'
}

/** Reads the setting anew each time: another tab may have changed it a moment ago. */
export function notifyState(): NotifyState {
  const supported = isSupported()
  return notifyStateOf({
    supported,
    permission: supported ? Notification.permission : 'default',
    off: read() === OFF,
  })
}

export function isSupported(): boolean {
  return (
    typeof Notification !== 'undefined' &&
    'serviceWorker' in navigator &&
    'locks' in navigator &&
    'showNotification' in ServiceWorkerRegistration.prototype
  )
}

const listeners = new Set<() => void>()

/** Only in answer to a click: browsers ask on no other occasion, and people want no other. */
export async function turnOn(): Promise<void> {
  write('on')
  if (Notification.permission === 'default') await Notification.requestPermission()
  tell()
}

export function turnOff(): void {
  write(OFF)
  tell()
}

/** Told of changes here, in other tabs, and in the browser's settings. */
export function watchNotifyState(listener: () => void): () => void {
  listeners.add(listener)
  window.addEventListener('storage', listener)
  let permission: PermissionStatus | undefined
  let isStopped = false
  navigator.permissions
    ?.query({ name: 'notifications' })
    .then(status => {
      if (isStopped) return
      permission = status
      permission.addEventListener('change', listener)
    })
    // Not every browser knows this question.
    .catch(() => undefined)
  return () => {
    isStopped = true
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
    permission?.removeEventListener('change', listener)
  }
}

function tell(): void {
  for (const listener of listeners) listener()
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

function write(value: string): void {
  try {
    localStorage.setItem(KEY, value)
  } catch {
    // Forbidden: then it is as the browser's permission says.
  }
}

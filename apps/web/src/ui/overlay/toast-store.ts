import { Listeners } from '../listeners.ts'
export interface Toast {
  id: number
  level: 'info' | 'error'
  message: string
  action?: { label: string; run(): void }
  /** Whose page it belongs to; without one it is shown on every page. */
  sessionId?: string
}

const SHOWN_MS = 6000
/** One that can be acted on stays until it was read and reached. */
const ACTION_MS = 15_000
const MAX_TOASTS = 4

/** Errors stay until they are closed: whoever looked away must still see them. One of a session stays on its page. */
export class ToastStore {
  #toasts: readonly Toast[] = []
  #nextId = 1
  readonly #listeners = new Listeners()

  readonly subscribe = this.#listeners.subscribe

  readonly list = (): readonly Toast[] => this.#toasts

  info(message: string, action?: Toast['action']): void {
    const id: number = this.#add({
      level: 'info',
      message,
      ...(action ? { action: { label: action.label, run: () => this.#act(id, action.run) } } : {}),
    })
    setTimeout(() => this.close(id), action ? ACTION_MS : SHOWN_MS)
  }

  error(message: string, sessionId?: string): void {
    if (this.#toasts.some(toast => toast.message === message && toast.sessionId === sessionId)) return
    this.#add({ level: 'error', message, ...(sessionId === undefined ? {} : { sessionId }) })
  }

  #act(id: number, run: () => void): void {
    this.close(id)
    run()
  }

  close(id: number): void {
    this.#set(this.#toasts.filter(toast => toast.id !== id))
  }

  #add(toast: Omit<Toast, 'id'>): number {
    const id = this.#nextId++
    this.#set([...this.#toasts, { ...toast, id }].slice(-MAX_TOASTS))
    return id
  }

  #set(toasts: readonly Toast[]): void {
    this.#toasts = toasts
    this.#listeners.tell()
  }
}

export const toasts = new ToastStore()

import { type ClipboardEvent, type DragEvent, useRef, useState } from 'react'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { attach, MAX_ATTACHMENTS, readAttached, saveAttached, useAttached } from './attachments.ts'

/** Files for the next message: pasted, dropped or chosen. */
export function useAttachments(sessionId: string, takesImages: boolean) {
  const list = useAttached(sessionId)
  const underWay = useRef(0)
  const [reading, setReading] = useState(false)
  const add = async (files: readonly File[]) => {
    underWay.current += 1
    setReading(true)
    for (const file of files) {
      const result = await attach(file, takesImages).catch(() => ({
        problem: `${file.name} cannot be read.`,
      }))
      if ('problem' in result) toasts.error(result.problem)
      else saveAttached(sessionId, [...readAttached(sessionId), result.attachment].slice(0, MAX_ATTACHMENTS))
    }
    underWay.current -= 1
    setReading(underWay.current > 0)
  }
  return {
    list,
    reading,
    /** Whether some are not read yet, as of now and not of the last drawing. */
    isReading: () => underWay.current > 0,
    remove: (id: string) =>
      saveAttached(
        sessionId,
        readAttached(sessionId).filter(attachment => attachment.id !== id),
      ),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      void add([...event.dataTransfer.files])
    },
    onPaste: (event: ClipboardEvent) => {
      const files = [...event.clipboardData.files]
      if (files.length === 0) return
      event.preventDefault()
      void add(files)
    },
    choose: () => {
      const input = document.createElement('input')
      input.type = 'file'
      input.multiple = true
      input.addEventListener('change', () => void add([...(input.files ?? [])]))
      input.click()
    },
  }
}

import { type ClipboardEvent, type DragEvent, useState } from 'react'
import { toasts } from '../../ui/toast-store.ts'
import { type Attachment, attach, MAX_ATTACHMENTS } from './attachments.ts'

/** Files for the next message: pasted, dropped or chosen. */
export function useAttachments(takesImages: boolean) {
  const [list, setList] = useState<readonly Attachment[]>([])
  const add = async (files: readonly File[]) => {
    for (const file of files) {
      const result = await attach(file, takesImages)
      if ('problem' in result) toasts.error(result.problem)
      else setList(current => [...current, result.attachment].slice(0, MAX_ATTACHMENTS))
    }
  }
  return {
    list,
    clear: () => setList([]),
    remove: (id: string) => setList(current => current.filter(attachment => attachment.id !== id)),
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

/** Stores the latest output of a sandbox in two files of limited size. */

import { type FileHandle, open, readFile, rename } from 'node:fs/promises'

const TAIL = 2_000

export class LogFile {
  readonly #path: string
  readonly #half: number
  readonly #decoder = new TextDecoder()
  #file: FileHandle | null = null
  #size = 0
  #tail = ''
  #turn: Promise<void> = Promise.resolve()

  constructor(path: string, maxBytes: number) {
    this.#path = path
    this.#half = Math.floor(maxBytes / 2)
  }

  get tail(): string {
    return this.#tail.trim()
  }

  /** Reads a stream to its end. The writing process waits for the disk, never the reverse. */
  async append(stream: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of stream) {
        this.#tail = (this.#tail + this.#decoder.decode(chunk, { stream: true })).slice(-TAIL)
        this.#turn = this.#turn.then(() => this.#write(chunk)).catch(() => undefined)
        await this.#turn
      }
    } catch {
      // A pipe that broke has no more output.
    }
  }

  async read(): Promise<string> {
    await this.#turn
    const parts = await Promise.all(
      [`${this.#path}.1`, this.#path].map((path) => readFile(path, 'utf8').catch(() => '')),
    )
    return parts.join('')
  }

  async close(): Promise<void> {
    await this.#turn
    await this.#file?.close()
    this.#file = null
  }

  async #write(chunk: Uint8Array): Promise<void> {
    for (let offset = 0; offset < chunk.length; offset += this.#half) {
      const part = chunk.subarray(offset, offset + this.#half)
      const file = await this.#room(part.length)
      await file.write(part)
      this.#size += part.length
    }
  }

  async #room(bytes: number): Promise<FileHandle> {
    if (this.#file !== null && this.#size + bytes > this.#half) {
      await this.#file.close()
      this.#file = null
      await rename(this.#path, `${this.#path}.1`)
    }
    if (this.#file === null) {
      this.#file = await open(this.#path, 'a')
      this.#size = (await this.#file.stat()).size
      if (this.#size + bytes > this.#half && this.#size > 0) return this.#room(bytes)
    }
    return this.#file
  }
}

# SPDX-License-Identifier: GPL-2.0
#
# relay.py ADDRESS PORT: passes connections to ADDRESS:PORT on to the same port of 127.0.0.1.
import asyncio
import sys


async def copy(source, to):
    try:
        while data := await source.read(65536):
            to.write(data)
            await to.drain()
    except ConnectionError:
        pass
    to.close()


async def relay(source, to):
    try:
        inner, outer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    except ConnectionError:
        to.close()
        return
    await asyncio.gather(copy(source, outer), copy(inner, to))


async def main():
    server = await asyncio.start_server(relay, sys.argv[1], int(sys.argv[2]))
    async with server:
        await server.serve_forever()


asyncio.run(main())

# Build: docker build -t fawn .
# Run:   docker run --rm -p 127.0.0.1:2026:2026 -v fawn-data:/data fawn
#
# Fawn has no accounts yet. The server inside must listen on all addresses for
# the published port to reach it, hence --insecure; publish it on a loopback
# address only, or put a proxy with a login in front and name its host in
# server.hosts.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN make build VERSION=${VERSION}
RUN mkdir -p /empty/data /empty/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/bin/fawn /fawn
COPY --from=build --chown=65532:65532 /empty/ /
USER 65532:65532
ENV FAWN_HOME=/data
VOLUME /data
EXPOSE 2026
ENTRYPOINT ["/fawn"]
CMD ["serve", "--addr", "0.0.0.0:2026", "--insecure"]
